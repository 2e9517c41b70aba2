package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
)

// Each row of a file is sent as a test, with what follows from its days; what the
// server has already is no mistake, and what it refuses is named with its line.
func TestKitchenImport(t *testing.T) {
	t.Parallel()
	var got []api.KitchenTestDraft
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var d api.KitchenTestDraft
		if err := json.UnmarshalRead(r.Body, &d, json.RejectUnknownMembers(true)); err != nil || r.Method+r.URL.Path != "POST/v1/kpt" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		for _, old := range got {
			if old.ID == d.ID {
				w.WriteHeader(http.StatusConflict)
				fmt.Fprint(w, `{"code":"KPT_EXISTS","message":"There."}`)
				return
			}
		}
		if d.HouseholdID == "did:ixo:household/9" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"code":"HOUSEHOLD_UNKNOWN","message":"Nobody."}`)
			return
		}
		got = append(got, d)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	key := write("key", "secret")
	send := func(file string) (code int, out, errs string) {
		return run(t, dir, "kpt", "import", file, "--project", "did:ixo:project/1", "--url", server.URL, "--key-file", key)
	}
	const head = "householdId,testGroup,testPeriod.startDate,fuelMeasurements.dailyLogs,people.children,selection.method,selection.document,externalFactors.season\n"
	file := write("tests.csv", head+"did:ixo:household/1,reference,2026-05-30,3.2; 2.8; 3.1,2,simple_random,draw 7,dry\n"+
		"did:ixo:household/2,intervention,2026-05-30,1 0.5 0.25,,,,\n"+"did:ixo:household/9,intervention,2026-05-30,1 1 1,,,,\n"+"did:ixo:household/3,intervention,2026-05-30,1 one 1,,,,\n")
	for round, want := range []string{"4 tests: 2 recorded, 0 there already, 2 refused", "4 tests: 0 recorded, 2 there already, 2 refused"} {
		code, out, errs := send(file)
		if code != 1 || !strings.Contains(out, want) || !strings.Contains(out, "line 4: HOUSEHOLD_UNKNOWN: Nobody.") || !strings.Contains(out, `line 5: fuelMeasurements.dailyLogs: "one" is no amount`) {
			t.Errorf("round %d: %d %s %s", round, code, out, errs)
		}
	}
	first := got[0]
	if len(got) != 2 || first.TestPeriod.EndDate != "2026-06-01" || first.FuelMeasurements.Total != 9.1 || first.ProjectID != "did:ixo:project/1" || first.People.Children != 2 ||
		first.Selection.Document != "draw 7" || first.ExternalFactors.Season != "dry" || first.ID == "" || got[1].People != nil || got[1].Selection != nil {
		t.Errorf("sent %+v", got)
	}
	for text, want := range map[string]string{head + "did:ixo:household/1,reference,2026-05-30,3 3 3,two,,,\n": `people.children: "two" is no number`, "householdId,stove\nx,y\n": "column stove is not known"} {
		if code, out, errs := send(write("wrong.csv", text)); code != 1 || !strings.Contains(out+errs, want) {
			t.Errorf("%d %s %s, want %q", code, out, errs, want)
		}
	}
	if code, _, errs := send(write("tests.ods", "x")); code != 2 || !strings.Contains(errs, "CSV or XLSX") {
		t.Errorf("another format: %d %s", code, errs)
	}
}
