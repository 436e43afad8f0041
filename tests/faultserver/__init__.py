"""A stand-in server that plays the scripted model rightly and damages the stream on demand."""
