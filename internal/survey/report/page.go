package report

import (
	"html/template"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey/chart"
)

// style is that of the page: for a screen of any width, light or dark, and for A4.
const style = `:root{color-scheme:light dark}body{margin:0 auto;max-width:46rem;padding:1.5rem 1rem 4rem;font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;color:#1b1f24;background:#fff}` +
	`h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}h2{font-size:1.2rem;margin:2.4rem 0 .6rem;border-bottom:2px solid currentColor;padding-bottom:.2rem}h3{font-size:1.02rem;margin:1.8rem 0 .3rem}` +
	`p{margin:.4rem 0}.mute{opacity:.72}.small{font-size:.86rem}code,.hash{font:.82rem/1.4 ui-monospace,SFMono-Regular,Menlo,monospace;overflow-wrap:anywhere}` +
	`.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.86rem;margin:.5rem 0}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #8884}` +
	`td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;padding-right:.9rem}dl{display:grid;grid-template-columns:minmax(8rem,13rem) 1fr;gap:.25rem .9rem;margin:.5rem 0}dt{opacity:.72}dd{margin:0}` +
	`svg{display:block;max-width:100%;height:auto;margin:.4rem 0 .4rem -14px}.note{border-left:3px solid #b26a00;padding:.1rem 0 .1rem .7rem;margin:.6rem 0}ul{margin:.4rem 0;padding-left:1.2rem}` +
	`@media (prefers-color-scheme:dark){body{color:#e6e9ec;background:#16181b}}` +
	`@media (max-width:34rem){dl{grid-template-columns:1fr}dt{margin-top:.4rem}}` +
	`@page{size:A4;margin:16mm 15mm}@media print{body{max-width:none;padding:0;font-size:10pt;color:#000;background:#fff}.wide{overflow:visible}h2,h3{break-after:avoid}.keep,tr,svg{break-inside:avoid}a{color:inherit}}` +
	chart.Style

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"number": number, "share": share, "day": day, "moment": moment, "svg": svg, "css": func() template.CSS { return style }, "option": option, "method": chart.Method, "basis": basis, "status": status, "whole": whole,
}).Parse(markup))

// svg lets a picture of package chart stand in the page as it is: it escapes
// what it is given.
func svg(b []byte) template.HTML { return template.HTML(b) } //nolint:gosec // made by package chart

// number is a value to six digits.
func number(v *float64) string {
	if v == nil {
		return "–"
	}
	if a := *v; a == float64(int64(a)) && a < 1e15 && a > -1e15 {
		return chart.Number(a, 0)
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}

func share(v *float64) string {
	if v == nil {
		return "–"
	}
	return chart.Number(100**v, 1) + " %"
}

func whole(v *int) string {
	if v == nil {
		return "–"
	}
	return chart.Number(float64(*v), 0)
}

func day(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2 January 2006")
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2 January 2006, 15:04:05 UTC")
}

// option names a figure of a table.
func option(n chart.Names, e api.SurveyEstimate) string {
	if text := n.Options[e.Option]; text != "" {
		return text
	}
	if e.Option != "" {
		return e.Option
	}
	return "All households"
}

// basis says how households came on the list.
func basis(code string) string {
	return map[string]string{
		"drawn": "drawn here, by chance", "drawnElsewhere": "drawn elsewhere; the draw was not proven here", "census": "all households (census)",
		"listed": "a list made by hand", "open": "open: households came as they answered", "nonprobability": "not chosen by chance",
	}[code]
}

// status says what a precision means.
func status(code string) string {
	return map[string]string{
		"met": "The target is met: the figure may be used.", "bound_used": "The target is missed: the bound stands in for the figure.",
		"precision_not_met": "The target is missed: neither the figure nor a bound may be used.",
	}[code]
}

const markup = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Name}}: report</title><style>{{css}}</style></head><body>
<header>
<p class="small mute">Survey report · made {{moment .Made}}</p>
<h1>{{.Name}}</h1>
<p class="mute">{{.Survey.SurveyID}} · {{.Survey.Stage}} · {{.Survey.Status}} · round {{.Round}} · template {{.Survey.TemplateID}} version {{.Survey.TemplateVersion}}</p>
<p class="small mute">Project <code>{{.Survey.Project}}</code>{{if not .Survey.Window.Start.IsZero}} · {{day .Survey.Window.Start}} to {{day .Survey.Window.End}}{{end}}</p>
{{if .Verified}}<p class="note">Only verified responses count in this report.</p>{{end}}
{{if .Veiled}}<p class="note">Figures from fewer than 5 households are not shown.</p>{{end}}
</header>
{{with .Survey.Sampling}}
<section><h2>Design of the sample</h2>
<dl>
<dt>Method</dt><dd>{{.Method}}{{if .ClusterSelection}}, clusters by {{.ClusterSelection}}{{end}}</dd>
{{if .Size}}<dt>Size</dt><dd>{{number .Size}} households</dd>{{end}}
{{if .Population}}<dt>Population</dt><dd>{{number .Population}} households</dd>{{end}}
{{if .Confidence}}<dt>Confidence</dt><dd>{{share .Confidence}}</dd>{{end}}
{{if .Precision}}<dt>Relative precision</dt><dd>{{share .Precision}}</dd>{{end}}
{{if .MarginOfError}}<dt>Margin of error</dt><dd>{{number .MarginOfError}}</dd>{{end}}
{{if .ParameterType}}<dt>Designed for a</dt><dd>{{.ParameterType}}</dd>{{end}}
{{range .Stages}}<dt>Stage: {{.Unit}}</dt><dd>{{number .Drawn}} drawn of {{number .Units}}</dd>{{end}}
{{range .Totals}}<dt>Known totals</dt><dd>{{.By}}{{if .Source}} ({{.Source}}){{end}}</dd>{{end}}
{{if .DrawnElsewhere}}<dt>Drawn elsewhere</dt><dd>{{.DrawnElsewhere.Method}}, by {{.DrawnElsewhere.By}}, {{day .DrawnElsewhere.At}}; document <span class="hash">{{.DrawnElsewhere.DocumentHash}}</span></dd>{{end}}
{{with $.Proof.Design}}<dt>Design</dt><dd>{{.DesignID}}, version {{.Version}}, {{.Verification.Status}}{{if .Verification.Verifier}} by {{.Verification.Verifier}}{{end}}</dd>
<dt>Needed and drawn</dt><dd>{{.Parameters.CalculatedSize}} responses are needed ({{printf "%.1f" .Parameters.ExactSize}} before rounding); {{.Parameters.DrawnSize}} households are drawn, for a dropout rate of {{.Parameters.DropoutRate}}</dd>{{end}}
</dl>
{{if $.Strata}}<div class="wide"><table><thead><tr><th>Stratum</th><th class="n">Population</th><th class="n">Sample</th><th class="n">Answered</th><th class="n">Verified</th><th class="n">Refused</th><th class="n">Not reached</th></tr></thead><tbody>
{{range $.Strata}}<tr><td>{{.Name}}</td><td class="n">{{number .Population}}</td><td class="n">{{if .Size}}{{number .Size}}{{else if .Tally}}{{.Tally.Drawn}}{{else}}–{{end}}</td>{{with .Tally}}<td class="n">{{.Completed}}</td><td class="n">{{.Verified}}</td><td class="n">{{.Refused}}</td><td class="n">{{.Unreachable}}</td>{{else}}<td class="n">–</td><td class="n">–</td><td class="n">–</td><td class="n">–</td>{{end}}</tr>
{{end}}</tbody></table></div>{{end}}
</section>{{end}}
<section><h2>The draw and its proof</h2>
{{with .Survey.Sampling.Draw}}<dl><dt>Draw</dt><dd>{{.DrawID}}, {{moment .At}}, of version {{.Version}} of the design</dd>
<dt>SHA-256 of the frame</dt><dd class="hash">{{.FrameHash}}</dd></dl>
{{if .SoleSeed}}<p class="note">One party alone has named the seed: nothing shows that it was not chosen for its sample.</p>{{end}}
{{else}}<p>No draw was made here. The households are {{with $.Basis}}{{basis .}}{{else}}not known yet{{end}}.</p>{{end}}
{{with .Proof.Draw}}<dl>
<dt>Households to choose from</dt><dd>{{.Population}}</dd>
<dt>Drawn, and replaced since</dt><dd>{{.Drawn}}, {{.Replaced}}</dd>
{{if .Commitment}}<dt>Committed</dt><dd>{{moment .CommittedAt}}, by {{.CommittedBy}}<br><span class="hash">{{.Commitment}}</span></dd>{{end}}
{{with .Second}}<dt>Second part from</dt><dd>{{if eq .Source "beacon"}}{{.Beacon}}, published {{moment .At}}{{else}}another party{{end}}</dd>{{end}}
{{if .SecondBy}}<dt>Second part given</dt><dd>{{moment .SecondAt}}, by {{.SecondBy}}</dd>{{end}}
{{if .FirstPart}}<dt>First part</dt><dd class="hash">{{.FirstPart}}</dd>{{end}}
{{if .SecondPart}}<dt>Second part</dt><dd class="hash">{{.SecondPart}}</dd>{{end}}
{{if .Seed}}<dt>Seed</dt><dd class="hash">{{.Seed}}</dd>{{end}}
<dt>Earlier draws of the project</dt><dd>{{len .Earlier}}{{range .Earlier}}<br><span class="small">{{.DrawID}}, {{day .At}}, {{.State}}{{if .SameFrame}}, the same frame{{end}}{{if .Reason}}: {{.Reason}}{{end}}</span>{{end}}</dd>
</dl>{{end}}
{{with .Proof.Check}}<p><strong>{{if .Verified}}✓ Drawn again while this report was made, with the same result.{{else}}✗ Drawn again while this report was made: the result differs.{{end}}</strong></p>
<ul>{{range .Checks}}<li>{{if .OK}}✓{{else}}✗{{end}} {{.Name}}{{if .Detail}}: {{.Detail}}{{end}}</li>{{end}}</ul>
{{range .Remarks}}<p class="note">{{.}}</p>{{end}}
<p class="small mute">Check it yourself, without a server: fetch the record of the draw and run <code>hearth sample verify record.json</code>.</p>
{{else}}{{with .Proof.Why}}<p class="note">{{.}}</p>{{end}}{{end}}
</section>
<section><h2>Who answered</h2>
{{with .Counted}}<p>{{.Words}}</p><dl>
<dt>Households of the sample</dt><dd>{{.Sample}}{{if .Replacements}}, of which {{.Replacements}} stand in for others{{end}}</dd>
<dt>Answered</dt><dd>{{.Answered}}</dd>
<dt>Not eligible</dt><dd>{{.Ineligible}}</dd>
<dt>Said nothing</dt><dd>{{.Missing}}</dd>
<dt>Off the list</dt><dd>{{.OffList}}, in no figure</dd>
<dt>Response rate</dt><dd>{{share .ResponseRate}} of the households that were drawn first and are eligible</dd>
</dl>{{else}}<p>Nobody has answered yet.</p>{{end}}
{{with .Progress}}<div class="keep">{{svg .}}</div>{{end}}
</section>
{{range .Sections}}<section><h2>{{with .Title}}{{.}}{{else}}Figures{{end}}</h2>
{{range .Questions}}<article class="keep"><h3>{{.Label}}</h3><p class="small mute">{{.Name}}{{with .About}} · {{.}}{{end}}</p>
{{with .Why}}<p class="note">No figure: {{.}}</p>{{end}}
{{$names := .Names}}{{with .Picture}}{{svg .}}{{end}}
{{with .Figures}}<div class="wide"><table><thead><tr><th></th><th class="n">Estimate</th><th class="n">Low</th><th class="n">High</th><th class="n">Standard error</th><th class="n">n</th><th class="n">Design effect</th><th class="n">Unweighted</th><th>Interval</th></tr></thead><tbody>
{{range .Estimates}}<tr><td>{{option $names .}}</td>{{if .Suppressed}}<td colspan="8">not shown: too few households</td>{{else}}<td class="n">{{number .Estimate}}</td><td class="n">{{number .Low}}</td><td class="n">{{number .High}}</td><td class="n">{{number .SE}}</td><td class="n">{{whole .N}}</td><td class="n">{{number .Deff}}</td><td class="n">{{number .Unweighted}}</td><td>{{with .Method}}{{method .}}{{else}}none{{end}}</td>{{end}}</tr>
{{with .Precision}}{{with .Status}}<tr><td></td><td colspan="8" class="small">{{status .}}</td></tr>{{end}}{{end}}
{{end}}</tbody></table></div>
{{with .NoInterval}}<p class="note">{{.}}</p>{{end}}{{end}}
</article>{{end}}</section>{{end}}
<footer><h2>How the figures are made</h2>
<p class="small">Figures are weighted by how the sample was drawn; standard errors are linearised over strata and clusters, with the shares of the population that were seen. Proportions have Wilson intervals on the effective number of households unless another one is named. Households that said nothing are made up for by the others of their stratum or cluster. A replacement hides no refusal: the response rate counts the first draw.</p></footer>
</body></html>
`
