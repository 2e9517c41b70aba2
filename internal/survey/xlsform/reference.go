package xlsform

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// references reports texts that name answers: previews show them, what else
// reads a template may not. What we wrote ourselves was so before.
func (im *importer) references(r *row, bases ...string) {
	if im.ours {
		return
	}
	for i, c := range r.columns {
		if i >= len(r.cells) {
			return
		}
		found := form.Reference.FindString(r.cells[i].Text)
		for _, base := range bases {
			if c.base == base && found != "" {
				r.table.item(r.line, c.header, Warning, "reference_not_filled", "Previews show the answer that "+shorten(found)+" stands for. Programs that read the template, and exports, have the text as it is written.")
			}
		}
	}
}

// rename updates the names of questions in texts: programs that can show
// answers in texts look for them.
func (im *importer) rename() {
	if len(im.alias) == 0 {
		return
	}
	eachText(im.t, func(t form.Text) {
		for tag, text := range t {
			if !strings.Contains(text, "${") {
				continue
			}
			t[tag] = form.Reference.ReplaceAllStringFunc(text, func(found string) string {
				if id, ok := im.alias[form.Reference.FindStringSubmatch(found)[1]]; ok {
					return "${" + id + "}"
				}
				return found
			})
		}
	})
}
