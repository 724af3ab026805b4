"""The style sheet and the script of report.html: no file, font or address outside the page.

Colours come from the Okabe-Ito palette, which people with colour-blindness can tell apart, darkened or
lightened until each (for the light bars of proved bits, their outline) has a contrast of at least 3 to 1
against the card it lies on; text has at least 4.5 to 1. Red-orange means
multiplication (or a mismatch) everywhere and nothing else.
"""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#16191d;--soft:#5a626c;--line:#dfe3e8;--track:#eef1f4;
--accent:#00619a;--add:#0072b2;--mul:#c94f00;--sign:#3a94c7;--cmp:#008560;--shift:#7d8590;--lut:#b57800;--other:#a1558a;
--proved:#a9c9e2;--observed:#0072b2;--exact:#008560;--good-ink:#00593f;--good:#dff3eb;--bad-ink:#8f3300;--bad:#fde9dd}
@media screen and (prefers-color-scheme:dark){:root{--page:#101317;--card:#181c21;--ink:#e8ebee;--soft:#a3acb7;--line:#2d333b;
--track:#22272e;--accent:#6db8ec;--add:#3d9bdc;--mul:#f0813a;--sign:#8fd0f5;--cmp:#2dbb91;--shift:#8d96a1;--lut:#e3a93a;
--other:#cc8ab8;--proved:#2f5573;--observed:#58aee8;--exact:#2dbb91;--good-ink:#7fe0bf;--good:#12332a;--bad-ink:#ffb285;--bad:#42230f}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-padding-top:4rem}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-99em}.skip:focus{left:1rem;top:.5rem;z-index:3;background:var(--card);padding:.25rem .75rem}
header,main,footer,nav ul{max-width:80rem;margin:0 auto;padding:0 1.5rem}
header{padding-top:2.5rem;padding-bottom:1.25rem}
.brand{color:var(--soft);font-size:.8rem;font-weight:600;letter-spacing:.08em;text-transform:uppercase;margin:0}
h1{font-size:1.9rem;line-height:1.2;letter-spacing:-.015em;margin:.25rem 0 .4rem;text-wrap:balance}
h2{font-size:1.35rem;line-height:1.25;letter-spacing:-.01em;margin:0;overflow-wrap:anywhere}
h3{font-size:1rem;margin:0 0 .75rem}
.lead{color:var(--soft);max-width:62ch;margin:0}
nav{position:sticky;top:0;z-index:2;background:var(--page);border-bottom:1px solid var(--line)}
nav ul{display:flex;gap:1.25rem;overflow-x:auto;list-style:none;padding-top:.6rem;padding-bottom:.6rem}
nav a{white-space:nowrap;text-decoration:none;color:var(--soft);font-weight:500}nav a:hover{color:var(--ink)}
main>section{margin:2rem 0 3rem}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem;margin-bottom:1.5rem}
.card,figure,.scroll,details,.note-box{background:var(--card);border:1px solid var(--line);border-radius:10px}
.card{padding:1.1rem 1.2rem;display:flex;flex-direction:column;gap:.35rem}
.card a{font-weight:600;text-decoration:none;overflow-wrap:anywhere}
.big{font-size:2.1rem;font-weight:600;line-height:1.1;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.small{color:var(--soft);font-size:.85rem}
.badges{display:flex;flex-wrap:wrap;gap:.4rem;margin:.35rem 0 0;padding:0;list-style:none}
.badge{font-size:.78rem;font-weight:600;line-height:1.4;padding:.12rem .6rem;border-radius:99px;background:var(--track);color:var(--soft)}
.badge.good{background:var(--good);color:var(--good-ink)}.badge.bad{background:var(--bad);color:var(--bad-ink)}
.title{display:flex;flex-wrap:wrap;align-items:center;gap:.4rem 1rem;margin-bottom:1rem}.title .badges{margin:0}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1rem;align-items:start}
figure{margin:0 0 1rem;padding:1.1rem 1.2rem .8rem}
figcaption{display:flex;flex-direction:column}
.note{color:var(--soft);font-size:.85rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;margin:.5rem 0 .6rem;padding:0;font-size:.82rem;color:var(--soft)}
.legend li{display:flex;align-items:center;gap:.4rem}
.swatch{width:.75rem;height:.75rem;border-radius:3px}
.chart{display:block;overflow:visible;font-size:13px}
.chart text{fill:var(--ink);paint-order:stroke;stroke:var(--card);stroke-width:5px;stroke-linejoin:round}.chart .figure{fill:var(--soft);font-variant-numeric:tabular-nums}
.chart .tick{fill:var(--soft);font-size:11.5px}.chart .track{fill:var(--track)}
.chart .grid{stroke:var(--line)}.chart .zero{stroke:var(--soft)}
.chart rect{rx:2px}
.add{fill:var(--add);background:var(--add)}.mul{fill:var(--mul);background:var(--mul)}.sign{fill:var(--sign);background:var(--sign)}
.cmp{fill:var(--cmp);background:var(--cmp)}.shift{fill:var(--shift);background:var(--shift)}.lut{fill:var(--lut);background:var(--lut)}
.other{fill:var(--other);background:var(--other)}.proved{fill:var(--proved);background:var(--proved);stroke:var(--observed);box-shadow:inset 0 0 0 1px var(--observed)}
.observed,.ratio{fill:var(--observed);background:var(--observed)}.exact{fill:var(--exact);background:var(--exact)}
.curve line{stroke-width:2}.level{stroke:var(--soft);stroke-dasharray:5 4}.curve circle{stroke:var(--card)}
.curve.add{stroke:var(--add)}.curve.cmp{stroke:var(--cmp)}.curve.lut{stroke:var(--lut)}.curve.other{stroke:var(--other)}
.curve.shift{stroke:var(--shift)}.curve.sign{stroke:var(--sign)}
.scroll{overflow-x:auto;margin:0 0 1rem}
table{border-collapse:collapse;width:100%;font-size:.86rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.8rem .75rem .5rem;font-size:.95rem}
.csv{font-size:.78rem;font-weight:500}.csv:not(:first-child){margin-left:.4rem}
th,td{text-align:left;padding:.42rem .75rem;border-top:1px solid var(--line);white-space:nowrap;vertical-align:top}
td{padding-left:0}thead th{color:var(--soft);font-weight:500;font-size:.8rem;vertical-align:bottom}
thead th:not(:first-child){padding-left:0}
tbody th{font-weight:500;position:sticky;left:0;background:var(--card)}
tbody tr:hover>*{background:var(--track)}
.n{text-align:right}
td.good{color:var(--good-ink);font-weight:600}td.bad{color:var(--bad-ink);font-weight:600}
code{font:.9em ui-monospace,"SF Mono",Menlo,Consolas,monospace;background:var(--track);padding:.1em .3em;border-radius:4px}
details{margin:0 0 .6rem;overflow:hidden}details .scroll,details .note-box{border:0;border-top:1px solid var(--line);border-radius:0;margin:0}details caption{padding:.5rem .75rem 0}details caption span{position:absolute;left:-99em}
summary{cursor:pointer;padding:.65rem .75rem;font-weight:500}
pre{margin:0;padding:1rem;overflow-x:auto;border-top:1px solid var(--line);font:.82rem/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem;margin:0;font-size:.88rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.note-box{padding:1.1rem 1.2rem;margin-bottom:1rem}.note-box p{max-width:75ch}.note-box p:first-child{margin-top:0}.note-box p:last-child{margin-bottom:0}
footer{color:var(--soft);font-size:.85rem;padding-bottom:3rem}
@media (max-width:40rem){header,main,footer,nav ul{padding-left:1rem;padding-right:1rem}h1{font-size:1.5rem}
.cards{grid-template-columns:repeat(2,minmax(0,1fr));gap:.6rem}.card{padding:.8rem}.big{font-size:1.5rem}
th,td{padding-right:.75rem}tbody th{white-space:normal;min-width:8.5rem;max-width:11rem;overflow-wrap:anywhere}}
@media print{:root{color-scheme:light}body{background:#fff;font-size:10pt}nav,.skip,.csv{display:none}header{padding-top:0}
.card,figure,.note-box,tr{break-inside:avoid}h2,h3,caption,.title{break-after:avoid}.scroll{overflow:visible}
th,td{white-space:normal;padding:.2rem .4rem}table{font-size:7.5pt}tbody th{position:static}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
"""The whole style sheet. Classes such as `add` and `mul` colour both bars and legend."""

SCRIPT = """addEventListener("beforeprint",()=>document.querySelectorAll("details").forEach(d=>{d.open=true}))"""
"""Opens what is folded away before the page is printed; everything else works without a script."""
