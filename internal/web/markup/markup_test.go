package markup_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/hearth-dmrv/hearth/internal/web/markup"
)

var texts = []struct{ name, in, want string }{
	{"plain", "Jiko la kuni – 12 kg", "Jiko la kuni – 12 kg"},
	{"empty", "", ""},
	{"script", "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
	{"end of a style", "</style><script>x", "&lt;/style&gt;&lt;script&gt;x"},
	{"double quotes", `" onload="x`, "&#34; onload=&#34;x"},
	{"single quotes", `' onload='x`, "&#39; onload=&#39;x"},
	{"ampersand", "&lt;b&gt; & co", "&amp;lt;b&amp;gt; &amp; co"},
	{"UTF-7", "+ADw-script+AD4-", "&#43;ADw-script&#43;AD4-"},
	{"comment", "--><!--", "--&gt;&lt;!--"},
	{"control characters", "a\x01\x08\x1b[31m\x7f\tb\n", "a\x01\x08\x1b[31m\x7f\tb\n"},
	{"NUL", "\x00<\x00", "\uFFFD&lt;\uFFFD"},
	{"invalid UTF-8", "\xff<\xc3", "\uFFFD&lt;\uFFFD"},
	{"overlong bracket", "\xc0\xbcscript>", "\uFFFD\uFFFDscript&gt;"},
	{"U+FFFD itself", "a\uFFFDb", "a\uFFFDb"},
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var w markup.Writer
			if got := string(w.Text(tt.in).Bytes()); got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// read is the one paragraph of a page: the value of its attribute title, and its text.
func read(t *testing.T, page []byte) (title, text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(string(page)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			names = append(names, n.Data)
			for _, a := range n.Attr {
				names, title = append(names, a.Key), a.Val
			}
		case html.TextNode:
			text += n.Data
		case html.CommentNode, html.DoctypeNode:
			names = append(names, "another node")
		}
	}
	if want := []string{"html", "head", "body", "p", "title"}; !slices.Equal(names, want) {
		t.Errorf("%q has %v, want %v", page, names, want)
	}
	return title, text
}

// What a browser reads is the text that was written, and nothing but a text,
// between tags and inside of an attribute.
func FuzzText(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var w markup.Writer
		title, text := read(t, w.Put(`<p title="`).Text(in).Put(`">`).Text(in).Put("</p>").Bytes())
		want := strings.NewReplacer("\x00", "\uFFFD", "\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(in, "\uFFFD"))
		short := func(s string) string { return strings.ReplaceAll(s, "\uFFFD", "") } // a run of bad bytes is one or several
		if short(title) != short(want) || short(text) != short(want) {
			t.Errorf("%q is read as %q and %q", in, title, text)
		}
	})
}

func TestHref(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/c/9f86/credential":  `<a href="/c/9f86/credential">`,
		`/c/"onclick="x`:      `<a href="/c/&#34;onclick=&#34;x">`,
		"javascript:alert(1)": `<a href="#">`,
		"//example.org":       `<a href="#">`,
		`/\example.org`:       `<a href="#">`,
		"/\t/example.org":     `<a href="#">`,
		"https://example.org": `<a href="#">`,
		"":                    `<a href="#">`,
	} {
		var w markup.Writer
		if got := string(w.Put("<a").Href(in).Put(">").Bytes()); got != want {
			t.Errorf("Href(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestTag(t *testing.T) {
	t.Parallel()
	var w markup.Writer
	got := string(w.Put("<dl>").Tag("dt", "a<b").Put("<dd>").Own("<svg></svg>").Put("</dd></dl>").Bytes())
	if want := "<dl><dt>a&lt;b</dt><dd><svg></svg></dd></dl>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
