package weather_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/plugin"
	"github.com/hearth-dmrv/hearth/plugins/weather"
)

// normals starts the plugin on a day, with settings.
func normals(t *testing.T, day time.Time, given map[string]string) (*weather.Plugin, error) {
	t.Helper()
	p := weather.New()
	p.SetClock(day)
	set, err := plugin.Read(p.Settings(), given)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(set); err != nil {
		return nil, err
	}
	return p, p.Start(t.Context(), plugin.Host{Settings: set, HTTP: http.DefaultClient})
}

// The file is the source where it is there, answers as often as it is asked, and
// says what its figures are.
func TestNormals(t *testing.T) {
	t.Parallel()
	november, february := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC), time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		day        time.Time
		city, want string
	}{
		{november, "Exampleton", `{"ok":true,"city":"Exampleton","temp_c":-11.5,"units":"celsius","conditions":"not measured now: the normal of November 1991-2020 (Invented for a test 2, CC0-1.0)","latitude":-1.5,"longitude":36.25}`},
		{february, "exampleton,+ke", `"temp_c":2.5,"units":"celsius","conditions":"not measured now: the normal of February`},
		{november, "sao+teste", `"city":"São Teste","temp_c":31,`},
		{february, "sao+teste", `{"ok":false,"error":"Could not find weather for \"sao teste\"."}`},
		{november, "Twinford", `{"ok":false,"error":"Could not find weather for \"Twinford\"."}`},
		{november, "Twinford,+US", `"temp_c":2,`},
		{november, "Twinford+GB", `"temp_c":11,`},
		{november, "Atlantis", `{"ok":false,"error":"Could not find weather for \"Atlantis\"."}`},
		{november, "-", `{"ok":false`},
	} {
		for _, source := range []string{"", "normals"} {
			p, err := normals(t, tt.day, map[string]string{"normalsFile": "testdata/normals.csv", "source": source, "perMinute": "1"})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if got := now(t, p, "?city="+tt.city); !strings.Contains(got, tt.want) {
					t.Errorf("%s in %s = %s, want %s", tt.city, tt.day.Month(), got, tt.want)
				}
			}
		}
	}
	p, err := normals(t, november, map[string]string{"normalsFile": "testdata/normals.csv", "source": "none"})
	if err != nil {
		t.Fatal(err)
	}
	if got := now(t, p, "?city=Exampleton"); !strings.Contains(got, `"ok":false`) {
		t.Errorf("with source none: %s", got)
	}
}

// A file that does not fit stops the start, with what is wrong and where.
func TestBadNormals(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile("testdata/normals.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"# source: Invented for a test\n", "", `normalsFile: the file must begin with a line "# source: …" of 1 to 200 characters`},
		{"# licence: CC0-1.0", "# licence:", `the file must begin with a line "# licence: …"`},
		{"1991-2020", strings.Repeat("x", 201), `the file must begin with a line "# period: …"`},
		{",dec\n", "\n", "the columns must be city,country,latitude,longitude,jan,feb,"},
		{"KE,-1.5", "Kenya,-1.5", `line 7: country: "Kenya" is no code of two capital letters, such as KE`},
		{"KE,-1.5", "KE,-91", `line 7: latitude: "-91" is no number from -90 to 90`},
		{"36.25", "NaN", `line 7: longitude: "NaN" is no number from -180 to 180`},
		{"-11.5", "-115", `line 7: nov: "-115" is no number from -75 to 50`},
		{"Twinford,US", "twinford,GB", `line 10: city: twinford of GB is there twice`},
		{"São Teste", " ", `line 8: city: want a name of 1 to 100 characters`},
		{",12,11,10", ",12", `record on line 10: wrong number of fields`},
		{"São Teste", "\"São Teste", `extraneous or missing " in quoted-field`},
		{"São", "S\xe3o", "the file is not UTF-8"},
		{"", "", "the columns must be"},
		{string(whole[strings.Index(string(whole), "Exampleton"):]), "", "the file holds no city"},
		{"Twinford,US", strings.Repeat("x", 2<<20), "the file has more than 2097152 bytes"},
	} {
		path := filepath.Join(t.TempDir(), "normals.csv")
		text := strings.Replace(string(whole), tt.old, tt.new, 1)
		if tt.old == "" {
			text = ""
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := normals(t, time.Now(), map[string]string{"normalsFile": path}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q for %q: %v, want %s", tt.new, tt.old, err, tt.want)
		}
	}
	if _, err := normals(t, time.Now(), map[string]string{"source": "normals"}); err == nil || err.Error() != "normalsFile: is required where source is normals" {
		t.Errorf("without a file: %v", err)
	}
	if _, err := normals(t, time.Now(), map[string]string{"normalsFile": "testdata/none.csv", "source": "open-meteo"}); err == nil || !strings.HasPrefix(err.Error(), "normalsFile: open testdata/none.csv") {
		t.Errorf("with a file that is missing: %v", err)
	}
}
