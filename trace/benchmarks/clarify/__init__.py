"""Requests that lack what is needed to answer them: does a model ask back?"""
