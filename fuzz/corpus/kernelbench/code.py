"""doc"""
x = 1 # c
y = '''s # t'''
