package xlsform

import (
	"regexp"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// reference is an answer that a text names.
var reference = regexp.MustCompile(`\$\{\s*([^{}\s]+)\s*\}`)

// references reports texts that name answers: our texts cannot show any. What
// we wrote ourselves was so before.
func (im *importer) references(r *row, bases ...string) {
	if im.ours {
		return
	}
	for i, c := range r.columns {
		if i >= len(r.cells) {
			return
		}
		found := reference.FindString(r.cells[i].Text)
		for _, base := range bases {
			if c.base == base && found != "" {
				r.table.item(r.line, c.header, Warning, "reference_not_filled", "People will read "+shorten(found)+" and not the answer that it stands for.")
			}
		}
	}
}

// rename has texts name questions as they are called now: programs that can
// show answers in texts look for them.
func (im *importer) rename() {
	if len(im.alias) == 0 {
		return
	}
	eachText(im.t, func(t form.Text) {
		for tag, text := range t {
			if !strings.Contains(text, "${") {
				continue
			}
			t[tag] = reference.ReplaceAllStringFunc(text, func(found string) string {
				if id, ok := im.alias[reference.FindStringSubmatch(found)[1]]; ok {
					return "${" + id + "}"
				}
				return found
			})
		}
	})
}
