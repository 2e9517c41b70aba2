package config_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/config"
)

func loadFile(t *testing.T, name, text string) (*config.Config, error) {
	t.Helper()
	return config.Load(config.Input{ReadFile: files{name: text}.read, Flags: map[string]string{"config": name}})
}

func TestFileForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, text string }{
		{"yaml", "c.yaml", "# comment\nserver:\n  port: 4000\n  areas: [a, b]\n  trustProxy: yes\n  trustedProxies:\n    - 10.0.0.0/8\n    - 192.168.0.1\noracle:\n  name: \"Ngũ\"\n"},
		{"yaml of one group", "c.yml", "server: {port: 4000, areas: 'a,b', trustProxy: true, trustedProxies: '10.0.0.0/8,192.168.0.1'}\noracle: {name: Ngũ}\n"},
		{"json with tabs", "c.json", "{\n\t\"server\": {\"port\": 4000, \"areas\": [\"a\",\"b\"], \"trustProxy\": true,\n\t\"trustedProxies\": [\"10.0.0.0/8\", \"192.168.0.1\"]},\n\t\"oracle\": {\"name\": \"Ng\\u0169\"}\n}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := loadFile(t, tt.file, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			s := c.Server
			if s.Port != 4000 || strings.Join(s.Areas, "") != "ab" || !s.TrustProxy || len(s.TrustedProxies) != 2 || c.Oracle.Name != "Ngũ" {
				t.Errorf("got %+v, name %q", s, c.Oracle.Name)
			}
			if c.File() != tt.file {
				t.Errorf("File() = %q, want %q", c.File(), tt.file)
			}
		})
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, text, want string }{
		{"yaml twice", "c.yaml", "server:\n  port: 1\n  port: 2\n", "line 3"},
		{"yaml syntax", "c.yaml", "server:\n  port: [1\nx: }\n", "line"},
		{"yaml two documents", "c.yaml", "server:\n  port: 1\n---\nserver:\n  port: 2\n", "second document"},
		{"yaml scalar", "c.yaml", "hello\n", "want groups"},
		{"yaml anchor", "c.yaml", "server: &x\n  port: 1\n", "not understood"},
		{"yaml deep", "c.yaml", "a:\n  b:\n    c:\n      d:\n        e: 1\n", "nested too deep"},
		{"yaml negative", "c.yaml", "server:\n  port: -5\n", `"-5" is out of range`},
		{"yaml map in list", "c.yaml", "server:\n  areas:\n  - a: b\n", "plain values only"},
		{"json twice", "c.json", "{\"server\": {\"port\": 1,\n \"port\": 2}}", "line 2"},
		{"json trailing", "c.json", "{}\n{}", "something follows"},
		{"json comment", "c.json", "{\n// no\n}", "line 2"},
		{"json array", "c.json", "[]", "want an object"},
		{"json value line", "c.json", "{\n\"server\": {\n\"port\": \"x\"}}", "server.port (file c.json line 3)"},
		{"json null", "c.json", "{\"server\": {\"port\": null}}", "has no value"},
		{"json deep", "c.json", `{"a":{"b":{"c":{"d":{"e":1}}}}}`, "nested too deep"},
		{"plugin form", "c.yaml", "plugins:\n  weather: 5\n", "plugins.weather"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := loadFile(t, tt.file, tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestEmptyFile(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{"a.yaml": "", "b.yaml": "# nothing yet\n", "c.json": "{}", "d.yaml": "---\n"} {
		if _, err := loadFile(t, file, text); err != nil {
			t.Errorf("%s %q: %v", file, text, err)
		}
	}
}

func TestFindFile(t *testing.T) {
	t.Parallel()
	both := files{"hearth.yaml": "server: {port: 1}\n", "/srv/hearth.json": `{"server":{"port":2}}`}
	c, err := config.Load(config.Input{ReadFile: both.read, Env: []string{"HEARTH_DATA_DIR=/srv"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Server.Port != 2 || len(c.Warnings()) != 1 || !strings.Contains(c.Warnings()[0], "hearth.yaml is not read") {
		t.Errorf("port %d, warnings %q", c.Server.Port, c.Warnings())
	}
	inDir := files{"/etc/x/hearth.yml": "server: {port: 3}\n"}
	c, err = config.Load(config.Input{ReadFile: inDir.read, Dir: "/etc/x"})
	if err != nil || c.Server.Port != 3 {
		t.Errorf("working folder: %v, %v", c, err)
	}
	_, err = config.Load(config.Input{ReadFile: inDir.read, Env: []string{"HEARTH_CONFIG=none.yaml"}})
	if err == nil || !strings.Contains(err.Error(), `HEARTH_CONFIG (environment): "none.yaml" cannot be read`) {
		t.Errorf("missing file: %v", err)
	}
	big := files{"big.yaml": strings.Repeat("#", 2<<20)}
	if _, err = loadFile(t, "big.yaml", big["big.yaml"]); err == nil {
		t.Error("a file of 2 MiB was read")
	}
	if filepath.Base(c.File()) != "hearth.yml" {
		t.Errorf("File() = %q", c.File())
	}
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	f := files{"hearth.yaml": "plugins:\n  weather-now:\n    units: celsius\n    apiKey: s3cr3t\n  lost:\n    x: 1\n"}
	c, err := config.Load(config.Input{ReadFile: f.read, Env: []string{
		"HEARTH_PLUGIN_WEATHER_NOW_UNITS=kelvin", "HEARTH_PLUGIN_WEATHER_NOW_MAX_ITEMS=5", "HEARTH_PLUGIN_WEATHER_UNITS=rankine", "HEARTH_PLUGIN_GONE_X=1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"units": "kelvin", "apiKey": "s3cr3t", "maxItems": "5"}
	got, stray := c.PluginSettings([]string{"weather-now", "weather", "other"})
	if !maps.Equal(got["weather-now"], want) || !maps.Equal(got["weather"], map[string]string{"units": "rankine"}) || len(got["other"]) != 0 {
		t.Errorf("PluginSettings() = %v, want %v of weather-now and units of weather", got, want)
	}
	if !slices.Equal(stray, []string{"plugins.lost.x", "HEARTH_PLUGIN_GONE_X"}) {
		t.Errorf("the settings of no plugin are %v", stray)
	}
	var b strings.Builder
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "s3cr3t") || !strings.Contains(b.String(), "plugins.weather-now.apiKey") {
		t.Errorf("Print:\n%s", b.String())
	}
}

// No file makes Load panic or hang, whatever it holds.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"server:\n  port: 1\n", "{\"server\":{\"areas\":[\"a\"]}}", "a: &b\n  c: *b\n", "? x\n: - y", "- a\n- b", "x: |\n  y\n", "!!str a: b", "<<: {a: 1}", "a: {b: [c, {d: e}]}"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		name := "c.yaml"
		if isJSON {
			name = "c.json"
		}
		c, err := config.Load(config.Input{ReadFile: files{name: text}.read, Flags: map[string]string{"config": name}})
		if (c == nil) == (err == nil) {
			t.Errorf("config %v, error %v: want exactly one", c, err)
		}
	})
}
