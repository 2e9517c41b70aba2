package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

func kitchenCommands() []command {
	return []command{{
		name: "kpt import", args: "<file>", summary: "Import kitchen performance tests, a row each, from CSV or XLSX", run: kitchenImport, flags: kitchenImportFlags,
	}}
}

type kitchenOptions struct {
	access
	format, project string
}

func kitchenImportFlags(fs *flag.FlagSet) any {
	o := &kitchenOptions{}
	o.register(fs, "responses:write")
	fs.StringVar(&o.format, "format", "", "csv or xlsx; the end of the file's name by default")
	fs.StringVar(&o.project, "project", "", "`DID` of the project, for rows that name none")
	return o
}

// kitchenImport sends the rows of a file one after the other. It distinguishes a
// row that exists already from a refused one, so that a file can be sent again.
func kitchenImport(ctx context.Context, c *call) error {
	o := c.own.(*kitchenOptions)
	if len(c.args) != 1 {
		return errUsage{"import takes a file"}
	}
	f, err := os.Open(c.args[0])
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	defer f.Close()
	about, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	r, err := kitchenRows(f, about.Size(), sheet.Format(formatOf(o.format, c.args[0])))
	if err != nil {
		return err
	}
	defer r.Close()
	m, err := o.dial(ctx, c)
	if err != nil {
		return err
	}
	var done, there, refused int
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		switch err := m.kitchenTest(ctx, rec, o.project); {
		case err == nil:
			done++
		case denied(err, "KPT_EXISTS"):
			there++
		case errors.As(err, new(denial)) || errors.As(err, new(badCell)) || sheet.AsError(err) != nil:
			refused++
			fmt.Fprintf(c.out, "line %d: %v\n", rec.Line, err)
		default:
			return fmt.Errorf("line %d: %w", rec.Line, err)
		}
	}
	fmt.Fprintf(c.out, "%d tests: %d recorded, %d there already, %d refused\n", done+there+refused, done, there, refused)
	if refused > 0 {
		return errors.New("some rows were refused; correct them and send the file again")
	}
	return nil
}

// kitchenRows opens a file of tests. An unknown column is an error, because its
// content would be lost.
func kitchenRows(f *os.File, size int64, format sheet.Format) (*sheet.Reader, error) {
	if format != sheet.CSV && format != sheet.XLSX {
		return nil, errUsage{"the file must be CSV or XLSX; say which with --format"}
	}
	r, err := sheet.Open(format, f, size, sheet.Options{Flat: true, Kind: func(path string) string {
		if strings.HasSuffix(path, "Date") {
			return "date"
		}
		return "text"
	}})
	if err != nil {
		return nil, err
	}
	for _, column := range r.Columns() {
		if column.Path != "" && kitchenColumns[column.Name] == nil {
			return nil, errors.Join(fmt.Errorf("column %s is not known: docs/indicators.md has the columns of a test", column.Name), r.Close())
		}
	}
	return r, nil
}

// badCell is a cell that cannot be read.
type badCell struct{ column, why string }

func (b badCell) Error() string { return b.column + ": " + b.why }

// kitchenTest records the test of a row.
func (m *remote) kitchenTest(ctx context.Context, rec sheet.Record, project string) error {
	if len(rec.Errs) > 0 {
		return rec.Errs[0]
	}
	cells, d := map[string]string{}, &api.KitchenTestDraft{ProjectID: project}
	if err := json.Unmarshal(rec.JSON, &cells); err != nil {
		return fmt.Errorf("read a row: %w", err)
	}
	for column, text := range cells {
		if err := kitchenColumns[column](d, strings.TrimSpace(text)); err != nil {
			return badCell{column, err.Error()}
		}
	}
	complete(d)
	return m.post(ctx, "/v1/kpt", d, &api.KitchenTest{})
}

// complete fills in what the days of a test say: its end, its total, and an id that
// is the same when the row is sent again.
func complete(d *api.KitchenTestDraft) {
	f, p := &d.FuelMeasurements, &d.TestPeriod
	if start, err := time.Parse(time.DateOnly, p.StartDate); p.EndDate == "" && err == nil && len(f.DailyLogs) > 0 {
		p.EndDate = start.AddDate(0, 0, len(f.DailyLogs)-1).Format(time.DateOnly)
	}
	if f.Total == 0 {
		for _, v := range f.DailyLogs {
			f.Total += v
		}
		f.Total = math.Round(f.Total*1e6) / 1e6
	}
	if d.ID == "" {
		sum := sha256.Sum256([]byte(strings.Join([]string{d.ProjectID, d.HouseholdID, cmp.Or(f.Fuel, "wood"), p.StartDate}, "\x1f")))
		d.ID = "kpt-" + hex.EncodeToString(sum[:12])
	}
}

// kitchenColumns are the columns of a file, by the members of POST /v1/kpt.
var kitchenColumns = map[string]func(d *api.KitchenTestDraft, text string) error{
	"id":                     word(func(d *api.KitchenTestDraft) *string { return &d.ID }),
	"projectId":              word(func(d *api.KitchenTestDraft) *string { return &d.ProjectID }),
	"householdId":            word(func(d *api.KitchenTestDraft) *string { return &d.HouseholdID }),
	"testGroup":              word(func(d *api.KitchenTestDraft) *string { return &d.TestGroup }),
	"testPeriod.startDate":   word(func(d *api.KitchenTestDraft) *string { return &d.TestPeriod.StartDate }),
	"testPeriod.endDate":     word(func(d *api.KitchenTestDraft) *string { return &d.TestPeriod.EndDate }),
	"fuelMeasurements.fuel":  word(func(d *api.KitchenTestDraft) *string { return &d.FuelMeasurements.Fuel }),
	"fuelMeasurements.unit":  word(func(d *api.KitchenTestDraft) *string { return &d.FuelMeasurements.Unit }),
	"fuelMeasurements.total": amount(func(d *api.KitchenTestDraft) *float64 { return &d.FuelMeasurements.Total }),
	"people.children":        amount(func(d *api.KitchenTestDraft) *float64 { return &people(d).Children }),
	"people.women":           amount(func(d *api.KitchenTestDraft) *float64 { return &people(d).Women }),
	"people.men":             amount(func(d *api.KitchenTestDraft) *float64 { return &people(d).Men }),
	"people.oldMen":          amount(func(d *api.KitchenTestDraft) *float64 { return &people(d).OldMen }),
	"selection.method":       word(func(d *api.KitchenTestDraft) *string { return &chosen(d).Method }),
	"selection.designId":     word(func(d *api.KitchenTestDraft) *string { return &chosen(d).DesignID }),
	"selection.document":     word(func(d *api.KitchenTestDraft) *string { return &chosen(d).Document }),
	"externalFactors.season": word(func(d *api.KitchenTestDraft) *string { return &factors(d).Season }),
	"fuelMeasurements.dailyLogs": func(d *api.KitchenTestDraft, text string) error {
		for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ' ' }) {
			v, err := strconv.ParseFloat(one, 64)
			if err != nil {
				return fmt.Errorf("%q is no amount; write the days as 3.2; 2.8; 3.0", one)
			}
			d.FuelMeasurements.DailyLogs = append(d.FuelMeasurements.DailyLogs, v)
		}
		return nil
	},
}

func word(at func(*api.KitchenTestDraft) *string) func(*api.KitchenTestDraft, string) error {
	return func(d *api.KitchenTestDraft, text string) error {
		if text != "" {
			*at(d) = text
		}
		return nil
	}
}

func amount(at func(*api.KitchenTestDraft) *float64) func(*api.KitchenTestDraft, string) error {
	return func(d *api.KitchenTestDraft, text string) (err error) {
		if text == "" {
			return nil
		}
		if *at(d), err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		return nil
	}
}

func people(d *api.KitchenTestDraft) *api.KitchenTestPeople {
	if d.People == nil {
		d.People = &api.KitchenTestPeople{}
	}
	return d.People
}

func chosen(d *api.KitchenTestDraft) *api.KitchenTestChoice {
	if d.Selection == nil {
		d.Selection = &api.KitchenTestChoice{}
	}
	return d.Selection
}

func factors(d *api.KitchenTestDraft) *api.KitchenTestFactors {
	if d.ExternalFactors == nil {
		d.ExternalFactors = &api.KitchenTestFactors{}
	}
	return d.ExternalFactors
}
