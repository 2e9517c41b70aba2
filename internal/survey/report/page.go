package report

import (
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// style is the style of the page: for a screen of any width, light or dark, and
// for A4.
const style = `:root{color-scheme:light dark}body{margin:0 auto;max-width:46rem;padding:1.5rem 1rem 4rem;font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;color:#1b1f24;background:#fff;overflow-wrap:break-word}` +
	`h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}h2{font-size:1.2rem;margin:2.4rem 0 .6rem;border-bottom:2px solid currentColor;padding-bottom:.2rem}h3{font-size:1.02rem;margin:1.8rem 0 .3rem}` +
	`p{margin:.4rem 0}.mute{opacity:.72}.small{font-size:.86rem}code,.hash{font:.82rem/1.4 ui-monospace,SFMono-Regular,Menlo,monospace;overflow-wrap:anywhere}` +
	`.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.86rem;margin:.5rem 0}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #8884}` +
	`td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;padding-right:.9rem}td.n{white-space:nowrap}dl{display:grid;grid-template-columns:minmax(8rem,13rem) minmax(0,1fr);gap:.25rem .9rem;margin:.5rem 0}dt{opacity:.72}dd{margin:0}` +
	`svg{display:block;max-width:100%;height:auto;margin:.4rem 0 .4rem -14px}.note{border-left:3px solid #b26a00;padding:.1rem 0 .1rem .7rem;margin:.6rem 0}ul{margin:.4rem 0;padding-left:1.2rem}` +
	`@media (prefers-color-scheme:dark){body{color:#e6e9ec;background:#16181b}}` +
	`@media (max-width:34rem){dl{grid-template-columns:minmax(0,1fr)}dt{margin-top:.4rem}}` +
	`@page{size:A4;margin:16mm 15mm}@media print{body{max-width:none;padding:0;font-size:10pt;color:#000;background:#fff}.wide{overflow:visible}h2,h3{break-after:avoid}.keep,tr,svg{break-inside:avoid}a{color:inherit}}` +
	pictureStyle

// say is a sentence of the page in its language, by its English words, as those of
// pictures are.
func (p *Report) say(english string, args ...any) string { return p.frame().Say(english, args...) }

func (p *Report) frame() Frame { return Frame{Language: p.Language} }

// lang is the language of the page: English where it has no words of another one.
func (p *Report) lang() string { return p.frame().Spoken() }

// day is a date as people of the language write it.
func (p *Report) day(t time.Time) string { return p.at(t, "2 January 2006", time.DateOnly) }

// moment is a date with its time.
func (p *Report) moment(t time.Time) string {
	return p.at(t, "2 January 2006, 15:04:05 UTC", "2006-01-02 15:04:05 UTC")
}

func (p *Report) at(t time.Time, english, other string) string {
	switch {
	case t.IsZero():
		return "–"
	case p.lang() == "en":
		return t.UTC().Format(english)
	}
	return t.UTC().Format(other)
}

// number is a value to six digits.
func number(v *float64) string {
	if v == nil {
		return "–"
	}
	if a := *v; a == float64(int64(a)) && a < 1e15 && a > -1e15 {
		return Number(a, 0)
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}

func share(v *float64) string {
	if v == nil {
		return "–"
	}
	return Number(100**v, 1) + " %"
}

func whole(v *int) string {
	if v == nil {
		return "–"
	}
	return Number(float64(*v), 0)
}

// option names a figure of a table.
func option(n Names, e api.SurveyEstimate) string {
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
		"": "not known yet", "drawn": "drawn here, by chance", "drawnElsewhere": "drawn elsewhere; the draw was not verified here", "census": "all households (census)",
		"listed": "a list made by hand", "open": "open: households came as they answered", "nonprobability": "not chosen by chance",
	}[code]
}

// status says what a precision means.
func status(code string) string {
	return map[string]string{
		"met": "The target is met: the figure may be used.", "bound_used": "The target is missed: the bound replaces the figure.",
		"precision_not_met": "The target is missed: neither the figure nor a bound may be used.",
	}[code]
}
