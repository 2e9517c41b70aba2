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
	`td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;padding-right:.9rem}td.n{white-space:nowrap}dl{display:grid;grid-template-columns:minmax(8rem,13rem) 1fr;gap:.25rem .9rem;margin:.5rem 0}dt{opacity:.72}dd{margin:0}` +
	`svg{display:block;max-width:100%;height:auto;margin:.4rem 0 .4rem -14px}.note{border-left:3px solid #b26a00;padding:.1rem 0 .1rem .7rem;margin:.6rem 0}ul{margin:.4rem 0;padding-left:1.2rem}` +
	`@media (prefers-color-scheme:dark){body{color:#e6e9ec;background:#16181b}}` +
	`@media (max-width:34rem){dl{grid-template-columns:1fr}dt{margin-top:.4rem}}` +
	`@page{size:A4;margin:16mm 15mm}@media print{body{max-width:none;padding:0;font-size:10pt;color:#000;background:#fff}.wide{overflow:visible}h2,h3{break-after:avoid}.keep,tr,svg{break-inside:avoid}a{color:inherit}}` +
	chart.Style

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"number": number, "share": share, "svg": svg, "css": func() template.CSS { return style }, "option": option, "method": chart.Method, "basis": basis, "status": status, "whole": whole,
}).Parse(markup))

// Say is a sentence of the page in its language, by its English words, as those of
// pictures are.
func (p *Report) Say(english string, args ...any) string { return p.frame().Say(english, args...) }

func (p *Report) frame() chart.Frame { return chart.Frame{Language: p.Language} }

// Lang is the language of the page: English where it has no words of another one.
func (p *Report) Lang() string { return p.frame().Spoken() }

// Day is a date as people of the language write it.
func (p *Report) Day(t time.Time) string { return p.at(t, "2 January 2006", time.DateOnly) }

// Moment is a date with its time.
func (p *Report) Moment(t time.Time) string {
	return p.at(t, "2 January 2006, 15:04:05 UTC", "2006-01-02 15:04:05 UTC")
}

func (p *Report) at(t time.Time, english, other string) string {
	switch {
	case t.IsZero():
		return "–"
	case p.Lang() == "en":
		return t.UTC().Format(english)
	}
	return t.UTC().Format(other)
}

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
		"": "not known yet", "drawn": "drawn here, by chance", "drawnElsewhere": "drawn elsewhere; the draw was not proven here", "census": "all households (census)",
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
<html lang="{{.Lang}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Say "%s: report" .Name}}</title><style>{{css}}</style></head><body>
<header>
<p class="small mute">{{.Say "Survey report · made %s" (.Moment .Made)}}</p>
<h1>{{.Name}}</h1>
<p class="mute">{{.Survey.SurveyID}} · {{.Say .Survey.Stage}} · {{.Say (print .Survey.Status)}} · {{.Say "round %s" (print .Round)}} · {{.Say "template %s version %d" .Survey.TemplateID .Survey.TemplateVersion}}</p>
<p class="small mute">{{.Say "Project"}} <code>{{.Survey.Project}}</code>{{if not .Survey.Window.Start.IsZero}} · {{.Say "%s to %s" (.Day .Survey.Window.Start) (.Day .Survey.Window.End)}}{{end}}</p>
{{if .Verified}}<p class="note">{{.Say "Only verified responses count in this report."}}</p>{{end}}
{{if .Veiled}}<p class="note">{{.Say "Figures from fewer than 5 households are not shown."}}</p>{{end}}
</header>
{{with .Survey.Sampling}}
<section><h2>{{$.Say "Design of the sample"}}</h2>
<dl>
<dt>{{$.Say "Method"}}</dt><dd>{{$.Say .Method}}{{if .ClusterSelection}}{{$.Say ", clusters by %s" ($.Say .ClusterSelection)}}{{end}}</dd>
{{if .Size}}<dt>{{$.Say "Size"}}</dt><dd>{{$.Say "%s households" (number .Size)}}</dd>{{end}}
{{if .Population}}<dt>{{$.Say "Population"}}</dt><dd>{{$.Say "%s households" (number .Population)}}</dd>{{end}}
{{if .Confidence}}<dt>{{$.Say "Confidence"}}</dt><dd>{{share .Confidence}}</dd>{{end}}
{{if .Precision}}<dt>{{$.Say "Relative precision"}}</dt><dd>{{share .Precision}}</dd>{{end}}
{{if .MarginOfError}}<dt>{{$.Say "Margin of error"}}</dt><dd>{{number .MarginOfError}}</dd>{{end}}
{{if .ParameterType}}<dt>{{$.Say "Designed for a"}}</dt><dd>{{$.Say .ParameterType}}</dd>{{end}}
{{range .Stages}}<dt>{{$.Say "Stage: %s" ($.Say .Unit)}}</dt><dd>{{$.Say "%s drawn of %s" (number .Drawn) (number .Units)}}</dd>{{end}}
{{range .Totals}}<dt>{{$.Say "Known totals"}}</dt><dd>{{.By}}{{if .Source}} ({{.Source}}){{end}}</dd>{{end}}
{{if .DrawnElsewhere}}<dt>{{$.Say "Drawn elsewhere"}}</dt><dd>{{$.Say "%s, by %s, %s; document" .DrawnElsewhere.Method .DrawnElsewhere.By ($.Day .DrawnElsewhere.At)}} <span class="hash">{{.DrawnElsewhere.DocumentHash}}</span></dd>{{end}}
{{with $.Proof.Design}}<dt>{{$.Say "Design"}}</dt><dd>{{$.Say "%s, version %d" .DesignID .Version}}, {{$.Say .Verification.Status}}{{if .Verification.Verifier}} {{$.Say "by %s" .Verification.Verifier}}{{end}}</dd>
<dt>{{$.Say "Needed and drawn"}}</dt><dd>{{$.Say "%d responses are needed (%.1f before rounding); %d households are drawn, for a dropout rate of %g" .Parameters.CalculatedSize .Parameters.ExactSize .Parameters.DrawnSize .Parameters.DropoutRate}}</dd>{{end}}
</dl>
{{if $.Strata}}<div class="wide"><table><thead><tr><th>{{$.Say "Stratum"}}</th><th class="n">{{$.Say "Population"}}</th><th class="n">{{$.Say "Sample"}}</th><th class="n">{{$.Say "Answered"}}</th><th class="n">{{$.Say "Verified"}}</th><th class="n">{{$.Say "Refused"}}</th><th class="n">{{$.Say "Not reached"}}</th></tr></thead><tbody>
{{range $.Strata}}<tr><td>{{.Name}}</td><td class="n">{{number .Population}}</td><td class="n">{{if .Size}}{{number .Size}}{{else if .Tally}}{{.Tally.Drawn}}{{else}}–{{end}}</td>{{with .Tally}}<td class="n">{{.Completed}}</td><td class="n">{{.Verified}}</td><td class="n">{{.Refused}}</td><td class="n">{{.Unreachable}}</td>{{else}}<td class="n">–</td><td class="n">–</td><td class="n">–</td><td class="n">–</td>{{end}}</tr>
{{end}}</tbody></table></div>{{end}}
</section>{{end}}
<section><h2>{{$.Say "The draw and its proof"}}</h2>
{{with .Survey.Sampling.Draw}}<dl><dt>{{$.Say "Draw"}}</dt><dd>{{$.Say "%s, %s, of version %d of the design" .DrawID ($.Moment .At) .Version}}</dd>
<dt>{{$.Say "SHA-256 of the frame"}}</dt><dd class="hash">{{.FrameHash}}</dd></dl>
{{if .SoleSeed}}<p class="note">{{$.Say "One party alone has named the seed: nothing shows that it was not chosen for its sample."}}</p>{{end}}
{{else}}<p>{{$.Say "No draw was made here. The households are %s." ($.Say (basis $.Basis))}}</p>{{end}}
{{with .Proof.Draw}}<dl>
<dt>{{$.Say "Households to choose from"}}</dt><dd>{{.Population}}</dd>
<dt>{{$.Say "Drawn, and replaced since"}}</dt><dd>{{.Drawn}}, {{.Replaced}}</dd>
{{if .Commitment}}<dt>{{$.Say "Committed"}}</dt><dd>{{$.Say "%s, by %s" ($.Moment .CommittedAt) .CommittedBy}}<br><span class="hash">{{.Commitment}}</span></dd>{{end}}
{{with .Second}}<dt>{{$.Say "Second part from"}}</dt><dd>{{if eq .Source "beacon"}}{{$.Say "%s, published %s" .Beacon ($.Moment .At)}}{{else}}{{$.Say "another party"}}{{end}}</dd>{{end}}
{{if .SecondBy}}<dt>{{$.Say "Second part given"}}</dt><dd>{{$.Say "%s, by %s" ($.Moment .SecondAt) .SecondBy}}</dd>{{end}}
{{if .FirstPart}}<dt>{{$.Say "First part"}}</dt><dd class="hash">{{.FirstPart}}</dd>{{end}}
{{if .SecondPart}}<dt>{{$.Say "Second part"}}</dt><dd class="hash">{{.SecondPart}}</dd>{{end}}
{{if .Seed}}<dt>{{$.Say "Seed"}}</dt><dd class="hash">{{.Seed}}</dd>{{end}}
<dt>{{$.Say "Earlier draws of the project"}}</dt><dd>{{len .Earlier}}{{range .Earlier}}<br><span class="small">{{.DrawID}}, {{$.Day .At}}, {{$.Say .State}}{{if .SameFrame}}{{$.Say ", the same frame"}}{{end}}{{if .Reason}}: {{.Reason}}{{end}}</span>{{end}}</dd>
</dl>{{end}}
{{with .Proof.Check}}<p><strong>{{if .Verified}}{{$.Say "✓ Drawn again while this report was made, with the same result."}}{{else}}{{$.Say "✗ Drawn again while this report was made: the result differs."}}{{end}}</strong></p>
<ul lang="en">{{range .Checks}}<li>{{if .OK}}✓{{else}}✗{{end}} {{.Name}}{{if .Detail}}: {{.Detail}}{{end}}</li>{{end}}</ul>
{{range .Remarks}}<p class="note" lang="en">{{.}}</p>{{end}}
<p class="small mute">{{$.Say "Check it yourself, without a server: fetch the record of the draw and run"}} <code>hearth sample verify record.json</code>.</p>
{{else}}{{with .Proof.Why}}<p class="note" lang="en">{{.}}</p>{{end}}{{end}}
</section>
<section><h2>{{$.Say "Who answered"}}</h2>
{{with .Counted}}<p>{{if eq $.Lang "en"}}{{.Words}}{{else}}{{$.Say "Responses count that are complete and not rejected, invalidated, replaced, redacted or erased."}}{{end}}</p><dl>
<dt>{{$.Say "Households of the sample"}}</dt><dd>{{.Sample}}{{if .Replacements}}{{$.Say ", of which %d stand in for others" .Replacements}}{{end}}</dd>
<dt>{{$.Say "Answered"}}</dt><dd>{{.Answered}}</dd>
<dt>{{$.Say "Not eligible"}}</dt><dd>{{.Ineligible}}</dd>
<dt>{{$.Say "Said nothing"}}</dt><dd>{{.Missing}}</dd>
<dt>{{$.Say "Off the list"}}</dt><dd>{{$.Say "%d, in no figure" .OffList}}</dd>
<dt>{{$.Say "Response rate"}}</dt><dd>{{$.Say "%s of the households that were drawn first and are eligible" (share .ResponseRate)}}</dd>
</dl>{{else}}<p>{{$.Say "Nobody has answered yet."}}</p>{{end}}
{{with .Progress}}<div class="keep">{{svg .}}</div>{{end}}
</section>
{{range .Sections}}<section><h2>{{with .Title}}{{.}}{{else}}{{$.Say "Figures"}}{{end}}</h2>
{{range .Questions}}<article class="keep"><h3>{{.Label}}</h3><p class="small mute">{{.Name}}{{with .About}} · {{.}}{{end}}</p>
{{with .Why}}<p class="note">{{$.Say "No figure:"}} <span lang="en">{{.}}</span></p>{{end}}
{{$names := .Names}}{{with .Picture}}{{svg .}}{{end}}
{{with .Figures}}<div class="wide"><table><thead><tr><th></th><th class="n">{{$.Say "Estimate"}}</th><th class="n">{{$.Say "Low"}}</th><th class="n">{{$.Say "High"}}</th><th class="n">{{$.Say "Standard error"}}</th><th class="n">{{$.Say "n"}}</th><th class="n">{{$.Say "Design effect"}}</th><th class="n">{{$.Say "Unweighted"}}</th><th>{{$.Say "Interval"}}</th></tr></thead><tbody>
{{range .Estimates}}<tr><td>{{$.Say (option $names .)}}</td>{{if .Suppressed}}<td colspan="8">{{$.Say "not shown: too few households"}}</td>{{else}}<td class="n">{{number .Estimate}}</td><td class="n">{{number .Low}}</td><td class="n">{{number .High}}</td><td class="n">{{number .SE}}</td><td class="n">{{whole .N}}</td><td class="n">{{number .Deff}}</td><td class="n">{{number .Unweighted}}</td><td>{{with .Method}}{{$.Say (method .)}}{{else}}{{$.Say "none"}}{{end}}</td>{{end}}</tr>
{{with .Precision}}{{with .Status}}<tr><td></td><td colspan="8" class="small">{{$.Say (status .)}}</td></tr>{{end}}{{end}}
{{end}}</tbody></table></div>
{{with .NoInterval}}<p class="note">{{$.Say .}}</p>{{end}}{{end}}
</article>{{end}}</section>{{end}}
<footer><h2>{{$.Say "How the figures are made"}}</h2>
<p class="small">{{.Say "Figures are weighted by how the sample was drawn; standard errors are linearised over strata and clusters, with the shares of the population that were seen."}} {{.Say "Proportions have Wilson intervals on the effective number of households unless another one is named."}} {{.Say "Households that said nothing are made up for by the others of their stratum or cluster."}} {{.Say "A replacement hides no refusal: the response rate counts the first draw."}}</p></footer>
</body></html>
`
