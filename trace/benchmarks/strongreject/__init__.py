"""StrongREJECT: does a model answer forbidden questions, and how usefully?"""
