"""A llama.cpp server (OpenAI-style) with a random model of half a megabyte: what it says makes no sense, how it says it does.

Usage: tiny_model_server.py FOLDER [--embeddings] [API_KEY]; prints its address, serves until standard input ends.
"""

import pathlib
import sys

import gguf
import numpy
import xllamacpp

WIDTH, BLOCKS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 4096


def tokens():
    """A token a byte, and the few that every vocabulary has."""
    special = [(b"<unk>", gguf.TokenType.UNKNOWN), (b"<s>", gguf.TokenType.CONTROL), (b"</s>", gguf.TokenType.CONTROL)]
    return special + [(b"<0x%02X>" % byte, gguf.TokenType.BYTE) for byte in range(256)]


def write(path):
    random = numpy.random.default_rng(7)
    vocabulary = tokens()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(BLOCKS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in vocabulary])
    writer.add_token_scores([0.0] * len(vocabulary))
    writer.add_token_types([kind for _, kind in vocabulary])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    # Else the prompt of a grammar begins with a blank that the grammar does not have.
    writer.add_add_space_prefix(False)

    def tensor(name, *shape):
        writer.add_tensor(name, (random.standard_normal(shape) * 0.1).astype(numpy.float32))

    def ones(name):
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    tensor("token_embd.weight", len(vocabulary), WIDTH)
    for block in range(BLOCKS):
        ones(f"blk.{block}.attn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{block}.{part}.weight", WIDTH, WIDTH)
        ones(f"blk.{block}.ffn_norm.weight")
        tensor(f"blk.{block}.ffn_gate.weight", INNER, WIDTH)
        tensor(f"blk.{block}.ffn_up.weight", INNER, WIDTH)
        tensor(f"blk.{block}.ffn_down.weight", WIDTH, INNER)
    ones("output_norm.weight")
    tensor("output.weight", len(vocabulary), WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    folder, keys = pathlib.Path(sys.argv[1]), sys.argv[2:]
    path = folder / "tiny.gguf"
    write(str(path))
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {"tiny"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.n_predict = 48
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.embedding = "--embeddings" in keys
    params.chat_template = "chatml"
    params.api_keys = [key for key in keys if not key.startswith("--")]
    if params.embedding:
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
