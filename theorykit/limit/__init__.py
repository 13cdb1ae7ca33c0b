"""Transformers of the limit paper: finite ones and Limit Transformers, exact and in floats."""

from theorykit.limit._communicate import Exchange as Exchange
from theorykit.limit._communicate import communicate as communicate
from theorykit.limit._exact import Fractions as Fractions
from theorykit.limit._exact import Run as Run
from theorykit.limit._exact import accepts as accepts
from theorykit.limit._exact import exact as exact
from theorykit.limit._finite import to_finite as to_finite
from theorykit.limit._forward import forward as forward
from theorykit.limit._limit import to_limit as to_limit
from theorykit.limit._products import alpha as alpha
from theorykit.limit._products import beta as beta
from theorykit.limit._products import in_hypothesis_class as in_hypothesis_class
from theorykit.limit._products import paths as paths
from theorykit.limit._products import regularizer as regularizer
from theorykit.limit._products import regularizer_infinity as regularizer_infinity
from theorykit.limit._products import regularizer_minus as regularizer_minus
from theorykit.limit._products import variant_product as variant_product
from theorykit.limit._transformer import SOS as SOS
from theorykit.limit._transformer import Head as Head
from theorykit.limit._transformer import Layer as Layer
from theorykit.limit._transformer import Local as Local
from theorykit.limit._transformer import Transformer as Transformer
from theorykit.limit._transformer import Unit as Unit
from theorykit.limit._transformer import fractional_bits as fractional_bits
from theorykit.limit._transformer import mlp as mlp
