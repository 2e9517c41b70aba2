package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// codesPage is the page of every error code of the API, found in the source below root
// where the fault is made.
func codesPage(root string) (string, error) {
	files, err := readSource(root)
	if err != nil {
		return "", err
	}
	found, err := scan(files)
	if err != nil {
		return "", err
	}
	return string(render(found)), nil
}

// kinds gives the value of every fault kind by its name.
var kinds = map[string]fault.Kind{
	"Internal": fault.Internal, "Invalid": fault.Invalid, "Unauthenticated": fault.Unauthenticated,
	"Forbidden": fault.Forbidden, "NotFound": fault.NotFound, "WrongMethod": fault.WrongMethod, "TooSlow": fault.TooSlow, "Conflict": fault.Conflict,
	"Stale": fault.Stale, "TooLarge": fault.TooLarge, "Unsupported": fault.Unsupported,
	"Unprocessable": fault.Unprocessable, "Unconditional": fault.Unconditional,
	"TooMany": fault.TooMany, "Unavailable": fault.Unavailable,
}

const intro = `# Error codes

<!-- Made by make generate from the source; do not edit. -->

An error answer carries one ` + "`code`" + `. Codes are part of the API: they are added, never renamed. Messages are for
people and may get better. Parts that vary are shown as "…".

`

const fieldIntro = `
## Field codes

Invalid input is answered with every wrong field at once. Each field carries a pointer and one of these codes.

`

// row is one code with all that is known of it.
type row struct {
	code              string
	statuses, details []string
	dirs              []string
}

// render writes the page.
func render(uses []use) []byte {
	var codes, fields []use
	for _, u := range uses {
		if u.kind == fieldKind {
			fields = append(fields, u)
		} else {
			codes = append(codes, u)
		}
	}
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("| Code | Status | Message | From |\n|---|---|---|---|\n")
	for _, r := range rows(codes) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.code, strings.Join(r.statuses, ", "), cell(r.details), strings.Join(r.dirs, ", "))
	}
	b.WriteString(fieldIntro)
	b.WriteString("| Code | Says | From |\n|---|---|---|\n")
	for _, r := range rows(fields) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.code, cell(r.details), strings.Join(r.dirs, ", "))
	}
	return []byte(b.String())
}

func rows(uses []use) []row {
	byCode := map[string]*row{}
	for _, u := range uses {
		r := byCode[u.code]
		if r == nil {
			r = &row{code: u.code}
			byCode[u.code] = r
		}
		if u.kind != fieldKind {
			r.statuses = with(r.statuses, fmt.Sprint(web.Status(kinds[u.kind])))
		}
		if strings.Trim(u.message, "… .") != "" {
			r.details = with(r.details, u.message)
		}
		r.dirs = with(r.dirs, strings.TrimPrefix(u.dir, "internal/"))
	}
	var out []row
	for _, r := range byCode {
		out = append(out, *r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].code < out[j].code })
	return out
}

// with adds text to a sorted list once.
func with(list []string, text string) []string {
	i := sort.SearchStrings(list, text)
	if i < len(list) && list[i] == text {
		return list
	}
	return append(list[:i:i], append([]string{text}, list[i:]...)...)
}

// cell makes texts safe for a Markdown table.
func cell(texts []string) string {
	safe := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	for i, text := range texts {
		texts[i] = safe.Replace(text)
	}
	return strings.Join(texts, " / ")
}
