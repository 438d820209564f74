"""RAGTruth, Data2txt: does a judge see what a text says beyond the data it was written from?"""
