"""The stand-in model server: what a decode or prefill process of SGLang shows to a client, without a GPU."""
