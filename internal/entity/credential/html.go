package credential

import (
	"cmp"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/vc"
	"github.com/hearth-dmrv/hearth/internal/web/markup"
)

// missing renders the page for an id that no credential has.
func missing(lang string) []byte {
	var w markup.Writer
	v := pageView{}
	v.Lang, v.Words = spoken(lang)
	v.meta(&w)
	v.head(&w)
	w.Tag("h1", v.Words["missing"]).Put("\n")
	sentence(&w, "bad", "✗", v.Words["missingNote"])
	w.Put("\n</header>\n</main>\n</html>\n")
	return w.Bytes()
}

// write makes the page.
func (v *pageView) write() []byte {
	var w markup.Writer
	v.meta(&w)
	w.Put(`<meta name="referrer" content="no-referrer">` + "\n")
	v.head(&w)
	v.says(&w)
	v.facts(&w)
	v.checks(&w)
	v.foot(&w)
	return w.Bytes()
}

// meta writes the head of the page.
func (v *pageView) meta(w *markup.Writer) {
	w.Put(`<!doctype html>` + "\n" + `<html lang="`).Text(v.Lang).Put(`">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
`)
}

// head writes title and style, and begins what people read.
func (v *pageView) head(w *markup.Writer) {
	title := v.Words["title"]
	w.Put("<title>").Text(title).Put(" · Hearth</title>\n<style>").Own(markup.Own(pageStyle)).Put("</style>\n")
	w.Put("<main>\n<header>\n" + `<p class="mark">Hearth · `).Text(title).Put("</p>\n")
}

// says writes what the credential is, and whether it stands.
func (v *pageView) says(w *markup.Writer) {
	title := v.Amount
	if title == "" {
		title = v.Kind
	}
	w.Tag("h1", title).Put("\n")
	switch {
	case v.Good && v.Says.Status == Retired:
		sentence(w, "used", "•", v.Words["used"])
		w.Put("\n")
	case v.Good:
		sentence(w, "good", "✓", v.Words["good"])
	default:
		sentence(w, "bad", "✗", v.Words["bad"])
	}
	w.Put("\n</header>\n")
}

// sentence writes the one that matters most.
func sentence(w *markup.Writer, class, sign, text string) {
	w.Put(`<p class="verdict `).Text(class).Put(`"><span aria-hidden="true">`).Text(sign).Put("</span> ").Text(text).Put("</p>")
}

// facts writes what the credential says, a row each.
func (v *pageView) facts(w *markup.Writer) {
	says := v.Says
	w.Put("<dl>\n<div>").Tag("dt", v.Words["kind"]).Put("<dd>").Text(v.Kind).Tag("small", says.Kind).Put("</dd></div>\n")
	if says.PeriodStart != "" || says.PeriodEnd != "" {
		w.Put("<div>").Tag("dt", v.Words["period"]).Tag("dd", says.PeriodStart+" "+v.Words["to"]+" "+says.PeriodEnd).Put("</div>")
	}
	w.Put("\n<div>").Tag("dt", v.Words["issued"]).Tag("dd", says.IssuedAt.Format("2006-01-02 15:04 UTC")).Put("</div>\n")
	named(w, v.Words["issuer"], v.Issuer, v.Signer)
	w.Put("\n")
	if says.Project != "" {
		named(w, v.Words["project"], v.Project, says.Project)
	}
	w.Put("\n<div>").Tag("dt", v.Words["about"]).Put(`<dd class="id">`).Text(v.Pseudonym).Tag("small", v.Words["aboutNote"]).Put("</dd></div>\n</dl>\n")
}

// named writes the row of something with an id and perhaps a name.
func named(w *markup.Writer, what, name, id string) {
	w.Put("<div>").Tag("dt", what)
	if name == "" {
		w.Put(`<dd class="id">`).Text(id).Put("</dd></div>")
		return
	}
	w.Put("<dd>").Text(name).Put(`<small class="id">`).Text(id).Put("</small></dd></div>")
}

// checks writes the results of verification.
func (v *pageView) checks(w *markup.Writer) {
	w.Put("<section>\n").Tag("h2", v.Words["checks"]).Put("\n<ul>\n")
	check := func(good bool, yes, no string) {
		if good {
			w.Put(`<li class="good"><span aria-hidden="true">✓</span> `).Text(v.Words[yes])
		} else {
			w.Put(`<li class="bad"><span aria-hidden="true">✗</span> `).Text(v.Words[no])
		}
		w.Put("</li>\n")
	}
	check(v.Signed, "signed", "unsigned")
	check(v.Says.Status != Revoked, "unrevoked", "revoked")
	check(v.Says.Status != Suspended, "unsuspended", "suspended")
	v.found(w, "bad", v.Reasons)
	v.found(w, "note", v.Warnings)
	w.Put("</ul>\n</section>\n")
}

// found lists reasons or warnings, in the language of the page where it has words for them.
func (v *pageView) found(w *markup.Writer, class string, all []vc.Reason) {
	for _, r := range all {
		w.Put(`<li class="`).Text(class).Put(`">`).Tag("code", r.Code).Put(" ").Text(cmp.Or(v.Words["why "+r.Code], r.Detail)).Put("</li>")
	}
	w.Put("\n")
}

// foot writes the addresses of the page and of the signed document.
func (v *pageView) foot(w *markup.Writer) {
	w.Put("<footer>\n")
	if v.QR != nil {
		v.code(w, v.QR)
	}
	w.Put("\n<p><a").Href(v.Document).Put(">").Text(v.Words["document"]).Put("</a></p>\n</footer>\n</main>\n</html>\n")
}

// code draws the QR code.
func (v *pageView) code(w *markup.Writer, q *auth.QR) {
	size := strconv.Itoa(q.Size)
	w.Put(`<figure><svg viewBox="0 0 `).Text(size).Put(" ").Text(size).Put(`" role="img" aria-label="QR"><rect width="100%" height="100%" fill="#fff"/><path d="`).Text(q.Path)
	w.Put(`" fill="#000"/></svg>`).Tag("figcaption", v.Words["scan"]).Put("</figure>")
}
