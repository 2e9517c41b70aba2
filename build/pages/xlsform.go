package main

import (
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

const xlsformBegin = `# XLSForm

` + "`POST /v1/templates:import`" + ` makes a draft of an XLSForm workbook, as ODK, KoboToolbox and SurveyCTO use it, and
` + "`GET /v1/templates/{templateId}/versions/{version}/xlsform`" + ` writes one. This page is made from the code: ` + "`go generate ./docs`" + `.

## Before anything is stored

` + "`?mode=check`" + ` reads the workbook, answers with the report and the template, and stores nothing. The report has one line for each thing that
is not kept as it stands, with its sheet, row and column:

| Level | Means |
|---|---|
| ` + "`error`" + ` | The workbook is refused: ` + "`TEMPLATE_IMPORT_INVALID`" + ` names all errors at once |
| ` + "`warning`" + ` | The template asks or takes something else than the workbook |
| ` + "`note`" + ` | Something was left out that changes no answer, or was decided: questions that look personal are marked (` + "`personal`" + `), the consent question is taken as such (` + "`consent`" + `) |

## Files

CSV files that a form names come with it, as parts of ` + "`multipart/form-data`" + `; the part with the workbook is called ` + "`form`" + `:

` + "```" + `
curl -H "Authorization: Bearer $KEY" -F form=@survey.xlsx -F files=@villages.csv "$URL/v1/templates:import"
` + "```" + `

`

const xlsformMiddle = `
The first line names the columns. Cells are text in UTF-8. Choices are in the columns ` + "`name`" + ` and ` + "`label`" + `, or in those that ` + "`value=`" + ` and ` + "`label=`" + ` in the
column parameters name. A file that is missing is named with the row that needs it. An update keeps the files it does not send, and
` + "`GET /v1/templates/{templateId}/versions/{version}/files`" + ` gives them back.

| A form says | It becomes |
|---|---|
| ` + "`select_one_from_file villages.csv`" + `, ` + "`select_multiple_from_file`" + ` | a choice with ` + "`optionsFrom`" + ` |
| ` + "`search('villages', 'matches', 'county', ${county})`" + ` in appearance | a choice with ` + "`optionsFrom`" + ` and ` + "`choiceFilter`" + ` |
| ` + "`choice_filter`" + ` | ` + "`choiceFilter`" + `: only what fits is offered in the preview, and taken in a response |
| ` + "`${name}`" + ` in a label or hint | the same: previews show the answer, choices by their labels |
| ` + "`pulldata('villages', 'pop', 'name', ${village})`" + ` | ` + "`found(files.villages, \"name\", village).map(i, i.pop)`" + `, its first value |
| ` + "`instance('villages')`" + ` with ` + "`item[county = ${county}]/pop`" + ` | the same, all values |
| ` + "`begin loop over stoves`" + ` | a group for each choice of the list |
| ` + "`include`" + ` | the rows of a workbook that is sent along, ` + "`-F more=@yes_or_no.xlsx`" + ` |

## Functions

`

const xlsformEnd = `
` + "`now()`" + ` and ` + "`today()`" + ` are the time and day of the response, ` + "`uuid()`" + ` and ` + "`random()`" + ` follow from its id: a response that is sent again is the same.
What ` + "`once()`" + ` calculates is kept when a response is corrected.

## Columns that begin with hearth_

Other programs leave them alone. Each is optional; a workbook that this server wrote shows them in use.
`

// xlsformPage is what is read of XLSForm workbooks, from the tables that the program
// reads them with.
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
