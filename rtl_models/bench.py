"""A SystemVerilog bench that plays a block's vectors, one each cycle, and compares every output."""

from __future__ import annotations

from mfsim.rtl_models.block import Parameters


def bench(parameters: Parameters, count: int) -> str:
    """Return the SystemVerilog test bench for `count` vectors; it prints one line that begins with PASS or FAIL.

    Parameters
    ----------
    parameters : Parameters
        The block with its choices.
    count : int, at least 1
        Vectors, one line each in `<port>_i.hex` and `<port>_o.hex`.

    Returns
    -------
    str
        SystemVerilog of the module `<top>_tb`.
    """
    top, output = parameters.top, parameters.output
    inputs = parameters.inputs
    declared = "".join(f"  logic [{p.width - 1}:0] {p.name}_vectors[Vectors];\n" for p in (*inputs, output))
    declared += "".join(f"  {p.declaration} {p.name};\n" for p in (*inputs, output))
    read = "".join(f'    $readmemh("{p.name}_i.hex", {p.name}_vectors);\n' for p in inputs)
    read += f'    $readmemh("{output.name}_o.hex", {output.name}_vectors);\n'
    wired = "".join(f"    .{p.name}_i({p.name}),\n" for p in inputs) + f"    .{output.name}_o({output.name})\n"
    drive = "".join(f"        {p.name} = {p.name}_vectors[given];\n" for p in inputs)
    compare = (
        f"        if ({output.name} !== {output.name}_vectors[seen]) begin\n"
        "          wrong++;\n"
        f'          $display("vector %0d: %h, not %h", seen, {output.name}, {output.name}_vectors[seen]);\n'
        "        end\n"
        "        seen++;\n"
    )
    verdict = (
        "    if (wrong == 0 && seen == Vectors) begin\n"
        f'      $display("PASS {top}: %0d vectors", seen);\n'
        "    end else begin\n"
        f'      $display("FAIL {top}: %0d of %0d vectors seen, %0d wrong", seen, Vectors, wrong);\n'
        "    end\n"
        "    $finish;\n"
    )
    header = (
        f"// Bench of {top}: plays {count} vectors and compares every output. Run it where the .hex files are.\n\n"
        f"module {top}_tb;\n\n  localparam int Vectors = {count};\n\n"
    )
    counters = "  int wrong = 0;\n  int given = 0;\n  int seen = 0;\n"
    if not parameters.latency:
        return (
            f"{header}{declared}{counters}\n  {top} dut (\n{wired}  );\n\n  initial begin\n{read}"
            f"    for (given = 0; given < Vectors; given++) begin\n{drive.replace('        ', '      ')}"
            f"      #1;\n{compare.replace('        ', '      ', 1).replace(chr(10) + '  ', chr(10))}    end\n{verdict}"
            "  end\n\nendmodule\n"
        )
    return (
        f"{header}{declared}  logic clk = 1'b0;\n  logic rst_n = 1'b0;\n  logic valid = 1'b0;\n  logic valid_out;\n{counters}\n"
        f"  {top} dut (\n    .clk_i(clk),\n    .rst_ni(rst_n),\n    .valid_i(valid),\n    .valid_o(valid_out),\n{wired}  );\n\n"
        "  always #1 clk = ~clk;\n\n"
        f"  initial begin\n{read}"
        "    @(negedge clk);\n    rst_n = 1'b1;\n"
        f"    while (given < Vectors + {parameters.latency}) begin\n"
        "      valid = given < Vectors;\n"
        f"      if (given < Vectors) begin\n{drive}      end\n"
        "      given++;\n"
        "      @(negedge clk);\n"
        f"      if (valid_out) begin\n{compare}      end\n"
        f"    end\n{verdict}  end\n\nendmodule\n"
    )
