class Model:
    """```` and <|im_end|> ÿþ[31m"""
	x = [INST]
