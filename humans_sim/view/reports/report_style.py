# SPDX-License-Identifier: Apache-2.0
"""How a report looks."""

STYLE = """
:root { color-scheme: light; }
body { margin: 0; background: #f4f5f7; color: #22262c;
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 24px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 10px; }
h2 { font-size: 19px; margin: 34px 0 10px; }
h3 { font-size: 13px; margin: 0 0 4px; color: #5b6470; text-transform: uppercase;
  letter-spacing: .06em; }
.verdict { display: inline-block; font-size: 20px; font-weight: 600; margin: 0 0 6px;
  padding: 8px 16px; border-radius: 8px; }
.verdict.good { background: #dff3e4; color: #14602c; }
.verdict.bad { background: #fbe0de; color: #8f1d14; }
.verdict.plain { background: #e4e8ee; color: #333b45; }
.note { margin: 4px 0; }
.good { color: #1a7a3a; }
.bad { color: #b3261e; }
.cards { columns: 2 400px; column-gap: 14px; }
.cards section { background: #fff; border: 1px solid #dfe3e8; border-radius: 8px;
  padding: 12px 14px; margin: 0 0 14px; break-inside: avoid; }
.cards td:first-child { white-space: nowrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.cards table { width: 100%; }
td, th { padding: 3px 16px 3px 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid #e8ebef; font-size: 14px; }
th { color: #5b6470; font-weight: 600; white-space: nowrap; }
table:not(.checks):not(.numbers) td:first-child { color: #5b6470; }
.numbers td, .numbers th { text-align: right; }
.numbers td:first-child, .numbers th:first-child { text-align: left; }
.checks td:nth-child(3), .checks td:nth-child(4), .checks th:nth-child(3),
  .checks th:nth-child(4) { text-align: right; }
.checks td:first-child { font-weight: 600; }
img { max-width: 100%; height: auto; display: block; background: #fff;
  border: 1px solid #dfe3e8; border-radius: 8px; }
iframe { width: 100%; height: 620px; border: 1px solid #dfe3e8; border-radius: 8px; }
details > summary { cursor: pointer; color: #24538f; margin-bottom: 8px; }
.stick { background: #fff; border: 1px solid #dfe3e8; border-radius: 8px; }
.stick canvas { width: 100%; height: 520px; display: block; cursor: grab;
  touch-action: none; outline-offset: -2px; }
.stick .tools { display: flex; gap: 12px; align-items: center; padding: 8px 14px;
  border-top: 1px solid #e8ebef; font-size: 14px; flex-wrap: wrap; }
.stick input[type=range] { flex: 1 1 200px; }
.stick button { width: 70px; }
.stick output { font-variant-numeric: tabular-nums; min-width: 250px;
  text-align: right; }
.stick .legend { margin: 0; padding: 0 14px 10px; color: #5b6470; font-size: 13px; }
.stick .legend span { margin-right: 18px; white-space: nowrap; }
.stick .legend i { display: inline-block; width: 11px; height: 11px; margin-right: 5px;
  border-radius: 50%; }
code { background: #e8ebef; padding: 1px 4px; border-radius: 4px; }
"""
