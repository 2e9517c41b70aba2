package form_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

func TestBeyond(t *testing.T) {
	t.Parallel()
	f := compile(t, questions(`{"id":"agree","type":"consent"},{"id":"stove","type":"photo","required":true},{"id":"home","type":"geo"},
		{"id":"never","type":"photo","required":true,"relevant":"response.mode != 'ussd' && response.mode != 'chat'"},
		{"id":"perhaps","type":"photo","required":"agree","relevant":"agree"},
		{"id":"twin","type":"entity_ref"},{"id":"when","type":"datetime"},{"id":"note","type":"note","label":"n"},
		{"id":"people","type":"repeat","questions":[{"id":"name","type":"text"},{"id":"voice","type":"audio"}]},
		{"id":"many","type":"single_choice","options":[`+many(41)+`]},{"id":"few","type":"single_choice","options":[`+many(40)+`]}`))
	for mode, want := range map[string]string{
		"ussd": "s/stove! s/home s/perhaps! s/twin s/when s/people/voice s/many",
		"chat": "s/stove! s/home s/perhaps! s/people/voice",
	} {
		reach := form.ByKeys
		if mode == "chat" {
			reach = form.InWords
		}
		var got []string
		for _, b := range f.Beyond(reach, mode) {
			text := strings.Join(b.Path, "/")
			if b.Required {
				text += "!"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", mode, text, want)
		}
	}
}

func many(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%q", fmt.Sprint("o", i))
	}
	return strings.Join(all, ",")
}
