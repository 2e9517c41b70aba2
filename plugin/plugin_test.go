package plugin_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/plugin"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	all := []plugin.Setting{
		{Name: "units", Choices: []string{"celsius", "kelvin"}, Default: "celsius"},
		{Name: "size", Kind: plugin.Integer, Min: 1, Max: 9, Default: "3"},
		{Name: "on", Kind: plugin.Boolean},
		{Name: "every", Kind: plugin.Duration, Default: "90s"},
		{Name: "where", Kind: plugin.URL},
		{Name: "who", Kind: plugin.List},
		{Name: "key", Secret: true, Required: true},
	}
	v, err := plugin.Read(all, map[string]string{"on": "true", "who": "ann, ben,", "key": "k", "enabled": "true", "where": "https://x.example/a"})
	if err != nil {
		t.Fatal(err)
	}
	if v.Text("units") != "celsius" || v.Int("size") != 3 || !v.Bool("on") || v.Duration("every") != 90*time.Second || !slices.Equal(v.List("who"), []string{"ann", "ben"}) || v.Text("none") != "" {
		t.Errorf("the values are %v", v)
	}
	_, err = plugin.Read(all, map[string]string{
		"units": "rankine", "size": "10", "on": "yes", "every": "soon", "where": "ftp://x", "colour": "red", "key": "  ",
	})
	for _, want := range []string{
		"units: want one of celsius, kelvin", "size: want a whole number from 1 to 9", "on: want true or false", "every: want a duration",
		"where: want an address", "colour: there is no setting", "key: is required",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read() = %v, want %q in it", err, want)
		}
	}
	if _, err := plugin.Read([]plugin.Setting{{Name: "enabled"}}, nil); err == nil {
		t.Error("a plugin may have a setting of its own by the name enabled")
	}
}

// What cannot be read is refused with the name of the member, and without its
// content.
func TestRead(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"city":"Kitui"}`:                "",
		`{"city":7}`:                      "The arguments cannot be read: /city must be of type string",
		`{"city":"a","city":"b"}`:         "The arguments cannot be read: a member appears twice",
		`{"town":"secret"}`:               "The arguments cannot be read: there is no member /town",
		`{"city":"secret"`:                "The arguments cannot be read: it is not valid JSON at position 16",
		`{"city":"a"} {"city":"b"}`:       "The arguments cannot be read: it is not valid JSON at position 13",
		`null`:                            "The arguments cannot be read: it is null",
		`["secret"]`:                      "The arguments cannot be read: it is not of the form that is wanted",
		`{"city":"secret` + "\xff" + `"}`: "The arguments cannot be read: it is not valid JSON at position 15",
	} {
		var in struct {
			City string `json:"city"`
		}
		err := plugin.Call{Args: []byte(args)}.Read(&in)
		var e *plugin.Error
		if want == "" && err != nil || want != "" && (!errors.As(err, &e) || e.Status != http.StatusBadRequest || e.Error() != want) {
			t.Errorf("Read(%s) = %v, want %q", args, err, want)
		}
	}
	r := &plugin.Request{Content: []byte(`{`)}
	if err := r.Read(&struct{}{}); err == nil || !strings.HasPrefix(err.Error(), "The body cannot be read") {
		t.Errorf("Read() of a body = %v", err)
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	e := &plugin.Error{Status: 400, Message: "Bad", Details: []string{"a is wrong", "b is wrong"}}
	if got := e.Error(); got != "Bad: a is wrong; b is wrong" {
		t.Errorf("Error() = %q", got)
	}
	if e := plugin.Unavailable("Not %s.", "now"); e.Status != 503 || e.Error() != "Not now." {
		t.Errorf("Unavailable() = %+v", e)
	}
}
