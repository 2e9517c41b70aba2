package account_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
)

// vectors gives the stored form of PINs by key and PIN.
func vectors(t *testing.T) func(key, pin string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/legacy.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct{ Key, PIN, Encrypted string }
	if err := json.Unmarshal(text, &all, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	return func(key, pin string) string {
		for _, v := range all {
			if v.Key == key && v.PIN == pin {
				return v.Encrypted
			}
		}
		t.Fatalf("no vector for %s", pin)
		return ""
	}
}

const importHead = "customer_id,full_name,email,phone,encrypted_pin,preferred_language,role\n"

func TestImport(t *testing.T) {
	t.Parallel()
	pin := vectors(t)
	file := importHead +
		"CA1B2C3D4,Amina Otieno,amina@example.org,+254700000001," + pin(keyOne, "48291") + ",eng,customer\n" +
		"CFFFFFFFF,\"Baraka, Juma\",,254700000002," + pin(keyOne, "0042") + ",swa,customer\n" +
		"C00000001,Locked Out,,,,eng,customer\n" +
		"CA1B2C3D5,Six Digits,,," + pin(keyOne, "918273") + ",eng,agent\n" +
		"D00000001,No Id,,," + pin(keyOne, "48291") + ",eng,customer\n" +
		"C00000002,Bad Phone,,0700000003," + pin(keyOne, "48291") + ",eng,customer\n" +
		"C00000003,Bad PIN,,,plain,eng,customer\n" +
		"C00000004,too,few\n"
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		w := &twins{}
		r := newRig(t, d, func(r *rig, c *account.Config) { w.with(r, c); c.PINKey, c.LegacyKey = keyTwo, keyOne })
		report, err := r.Import(t.Context(), strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if report.Imported != 4 || report.Sealed != 1 || report.Legacy != 2 || report.Locked != 1 || report.Bad != 4 || len(report.Problems) != 4 || report.Problems[3].Line != 9 {
			t.Errorf("report = %+v", report)
		}
		for _, p := range report.Problems {
			if strings.Contains(p.Text, "0700000003") || strings.Contains(p.Text, "Bad") {
				t.Errorf("problem repeats the line: %+v", p)
			}
		}
		if again, err := r.Import(t.Context(), strings.NewReader(strings.Replace(file, ",phone,", ",phone_number,", 1))); err != nil || again.Imported != 0 || again.Existing != 4 {
			t.Errorf("second import = %+v, %v", again, err)
		}
		if n := r.count(t, `SELECT count(*) FROM ussd_accounts WHERE pin_legacy <> ''`); n != 2 {
			t.Errorf("%d PINs in the old form, want 2", n)
		}
		r.enter(t, "+254711111111", "ca1b2c3d4", "48291")
		if out := r.login(t, "+254711111111", "CFFFFFFFF", "0043"); out.Name != "wrong" {
			t.Errorf("login with a wrong PIN = %+v", out)
		}
		out := r.login(t, "+254711111111", "CFFFFFFFF", "0042")
		if out.Name != "ok" || out.Lang != "sw" || out.Set["customerName"] != "Baraka, Juma" {
			t.Errorf("login = %+v", out)
		}
		r.enter(t, "+254711111111", "CA1B2C3D5", "918273")
		if n := r.count(t, `SELECT count(*) FROM ussd_accounts WHERE pin_legacy <> ''`); n != 0 {
			t.Errorf("%d PINs in the old form after login, want 0", n)
		}
		r.enter(t, "+254711111111", "CFFFFFFFF", "0042") // now sealed
		if out := r.login(t, "+254711111111", "C00000001", ""); out.Name != "wrong" {
			t.Errorf("login without a PIN = %+v", out)
		}
		pin, _, err := r.Reset(t.Context(), "C00000001", true)
		if err != nil || pin == "" { // it has no number
			t.Errorf("Reset() = %q, %v", pin, err)
		}
		r.run(t)
		await(t, "the twins are ready", func() bool { return r.one(t, "C00000001").Twins == account.TwinsReady })
	})
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	pin := vectors(t)
	line := func(n int, stored string) string { return fmt.Sprintf("C%08d,A,,,%s,eng,x\n", n, stored) }
	many := importHead
	for n := range 400 {
		many += line(n, pin(keyOne, "48291"))
	}
	for _, tt := range []struct{ name, file, key, code string }{
		{"empty", "", keyOne, "IMPORT_INVALID"},
		{"no head", line(1, pin(keyOne, "48291")), keyOne, "IMPORT_INVALID"},
		{"broken quote", importHead + "C00000001,\"A,,,,eng,x\n", keyOne, "IMPORT_INVALID"},
		{"key of another server", many, keyThree, "LEGACY_KEY_WRONG"},
		{"key of another server, one line", importHead + line(1, pin(keyOne, "48291")), keyThree, "LEGACY_KEY_WRONG"},
		{"no key", many, "", "LEGACY_KEY_WRONG"},
		{"one PIN of six digits", importHead + line(1, pin(keyOne, "918273")), keyOne, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, dbtest.SQLite(t), func(_ *rig, c *account.Config) { c.PINKey, c.LegacyKey = "", tt.key })
			report, err := r.Import(t.Context(), strings.NewReader(tt.file))
			if got := fault.CodeOf(err); got != tt.code {
				t.Errorf("Import() = %+v, %v; want %q", report, err, tt.code)
			}
			if tt.name == "no head" && !strings.HasSuffix(err.Error(), "lacks customer_id, full_name, email, phone, encrypted_pin, preferred_language.") {
				t.Errorf("Import() = %v, want all columns that are missing", err)
			}
			if n := r.count(t, `SELECT count(*) FROM ussd_accounts`); (n != 0) != (tt.code == "") {
				t.Errorf("%d accounts were made", n)
			}
		})
	}
}
