package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/client"
)

func officeStages() []stage {
	return []stage{
		{"webhook", false, (*loader).webhook},
		{"import and exports", false, (*loader).files},
	}
}

// hookText describes the webhook, and is how it is found again.
func hookText(id string) string { return "Demo " + id + ": verdicts about responses" }

// webhook makes a webhook that is switched off: its address belongs to nobody, and
// nothing is ever sent there.
func (l *loader) webhook(ctx context.Context) error {
	manager, err := l.as(ctx, managerID)
	if err != nil {
		return err
	}
	off := false
	_, err = manager.Webhooks.Create(ctx, client.WebhookDraft{
		URL: "https://demo.example.org/hooks/hearth", Events: []string{"response.verified", "response.rejected"}, Active: &off, Description: hookText(l.id),
	}, l.once("webhook"))
	l.counts.Webhooks = 1
	return err
}

// promoters are people of the villages whom an import brings.
const promoters = 6

func promoterID(i int) string { return fmt.Sprintf("demo-promoter-%d", i+1) }

// files imports people from a table, and exports twins and responses.
func (l *loader) files(ctx context.Context) error {
	manager, err := l.as(ctx, managerID)
	if err != nil {
		return err
	}
	l.counts.Jobs = 0
	var table strings.Builder
	table.WriteString("properties.name,properties.language,metadata.name,externalIds.demo\n")
	for i := range promoters {
		d := l.dice(fmt.Sprint("promoter/", i))
		name := pick(d, women...) + " " + pick(d, families...)
		fmt.Fprintf(&table, "%s,sw,%s,%s\n", name, name, promoterID(i))
	}
	for _, begin := range []func() (*client.Job, error){
		func() (*client.Job, error) {
			draft := client.ImportDraft{Format: "csv", Type: "Person", Protocol: personProtocol, Mode: "upsert"}
			return l.owner.Imports.Create(ctx, draft, strings.NewReader(table.String()), l.once("import"))
		},
		func() (*client.Job, error) {
			return manager.Exports.Create(ctx, client.ExportDraft{Format: "xlsx", Type: "Household"}, l.once("export"))
		},
		func() (*client.Job, error) {
			return manager.Surveys.Export(ctx, "demo-baseline", client.SurveyExportDraft{Format: "csv"}, l.once("export/baseline"))
		},
	} {
		j, err := begin()
		if err == nil {
			err = l.wait(ctx, l.owner, j)
		}
		if err != nil {
			return err
		}
		l.counts.Jobs++
	}
	return nil
}
