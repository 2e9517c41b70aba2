package main

import (
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

const xlsformBegin = `# XLSForm

` + "`POST /v1/templates:import`" + ` makes a draft template from an XLSForm workbook, as used by ODK, KoboToolbox and SurveyCTO, and
` + "`GET /v1/templates/{templateId}/versions/{version}/xlsform`" + ` writes one. This page is made from the code: ` + "`go generate ./docs`" + `.

## Before anything is stored

` + "`?mode=check`" + ` reads the workbook, answers with the report and the template, and stores nothing. The report has one line for each thing that
is not kept unchanged, with its sheet, row and column:

| Level | Means |
|---|---|
| ` + "`error`" + ` | The workbook is refused: ` + "`TEMPLATE_IMPORT_INVALID`" + ` names all errors at once |
| ` + "`warning`" + ` | The template asks or accepts something other than the workbook |
| ` + "`note`" + ` | Something was left out that changes no answer, or the import decided something: questions that look personal are marked (` + "`personal`" + `), and the question that looks like the consent becomes it (` + "`consent`" + `) |

## Files

Send the CSV files that a form names with it, as parts of ` + "`multipart/form-data`" + `; the part with the workbook is called ` + "`form`" + `:

` + "```" + `
curl -H "Authorization: Bearer $KEY" -F form=@survey.xlsx -F files=@villages.csv "$URL/v1/templates:import"
` + "```" + `

`

const xlsformMiddle = `
The first line names the columns. Cells are text in UTF-8. Choices are in the columns ` + "`name`" + ` and ` + "`label`" + `, or in those that ` + "`value=`" + ` and ` + "`label=`" + ` in the
column parameters name. The report names each missing file and the row that needs it. An update keeps the files it does not send, and
` + "`GET /v1/templates/{templateId}/versions/{version}/files`" + ` returns them.

| A form says | It becomes |
|---|---|
| ` + "`select_one_from_file villages.csv`" + `, ` + "`select_multiple_from_file`" + ` | a choice with ` + "`optionsFrom`" + ` |
| ` + "`search('villages', 'matches', 'county', ${county})`" + ` in appearance | a choice with ` + "`optionsFrom`" + ` and ` + "`choiceFilter`" + ` |
| ` + "`choice_filter`" + ` | ` + "`choiceFilter`" + `: the preview offers, and a response accepts, only choices that fit |
| ` + "`${name}`" + ` in a label or hint | the same: previews show the answer, and the label of a choice |
| ` + "`pulldata('villages', 'pop', 'name', ${village})`" + ` | ` + "`found(files.villages, \"name\", village).map(i, i.pop)`" + `, its first value |
| ` + "`instance('villages')`" + ` with ` + "`item[county = ${county}]/pop`" + ` | the same, all values |
| ` + "`begin loop over stoves`" + ` | a group for each choice of the list |
| ` + "`include`" + ` | the rows of a workbook that you send too, ` + "`-F more=@yes_or_no.xlsx`" + ` |

## Functions

`

const xlsformEnd = `
` + "`now()`" + ` and ` + "`today()`" + ` are the time and day of the response, ` + "`uuid()`" + ` and ` + "`random()`" + ` follow from its id: a response that is sent again is the same.
The value of ` + "`once()`" + ` is kept when a response is corrected.

## Columns that begin with hearth_

Other programs ignore them. Each is optional; export a template to see them in use.
`

// xlsformPage describes what is read from XLSForm workbooks, from the tables that
// the program reads them with.
func xlsformPage() string {
	var b strings.Builder
	b.WriteString(xlsformBegin)
	fmt.Fprintf(&b, "A template has at most %d files of %d MiB and %d rows each, %d MiB together; a cell has at most %d characters. The name of a file has no\n"+
		"slash, backslash or control character and does not begin with a dot.\n", form.MaxFiles, form.MaxFileBytes>>20, form.MaxFileRows, form.MaxAllFiles>>20, form.MaxText)
	b.WriteString(xlsformMiddle)
	b.WriteString("`" + strings.Join(xlsform.Functions(), "` `") + "`\n")
	b.WriteString(xlsformEnd)
	sheet := ""
	for _, c := range xlsform.HearthColumns() {
		if c.Sheet != sheet {
			sheet = c.Sheet
			fmt.Fprintf(&b, "\n### Sheet %s\n\n| Column | Holds |\n|---|---|\n", sheet)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.Name, c.About)
	}
	return b.String()
}
