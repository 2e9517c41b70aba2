package chat_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
)

func TestReplaceEmoji(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"no codes", "no codes"},
		{":wave:", "👋"},
		{"hello :wave:!", "hello 👋!"},
		{":+1::-1: :100:", "👍👎 💯"},
		{"(:heart:) **:tada:**", "(❤️) **🎉**"},
		{"*:fire:* “:zap:”", "*🔥* “⚡”"},
		{":nobody_knows_this:", ":nobody_knows_this:"},
		{":nobody:wave:", ":nobody:wave:"},
		{":Wave:", ":Wave:"},
		{"at 10:30:45", "at 10:30:45"},
		{"did:key:z6Mkon3Necd6", "did:key:z6Mkon3Necd6"},
		{"see did:key:", "see did:key:"},
		{"urn:id:5 and a:on:b", "urn:id:5 and a:on:b"},
		{"http://x:80:wave:", "http://x:80:wave:"},
		{":key:z6Mk", ":key:z6Mk"},
		{":id:/path", ":id:/path"},
		{"code `:wave:` and `a :wave: b`", "code `:wave:` and `a :wave: b`"},
		{"a ` alone :wave:\nnext :wave:", "a ` alone :wave:\nnext 👋"},
		{"```yaml\n:id: 5\n```\n:wave:", "```yaml\n:id: 5\n```\n👋"},
		{"``a ` b`` :wave:", "``a ` b`` 👋"},
		{`\:wave:`, `\:wave:`},
		{"::wave:", "::wave:"},
		{": wave :", ": wave :"},
		{":" + strings.Repeat("a", 40) + ":", ":" + strings.Repeat("a", 40) + ":"},
		{":wave", ":wave"},
		{"ends with:", "ends with:"},
		{"é:wave:", "é:wave:"},
		{"👋:wave:", "👋👋"},
	} {
		if got := chat.ReplaceEmoji(tt.in); got != tt.want {
			t.Errorf("Replace(%q) = %q, want %q", tt.in, got, tt.want)
		}
		if got := chat.ReplaceEmoji(tt.want); got != tt.want {
			t.Errorf("Replace(%q) again = %q", tt.want, got)
		}
	}
}

// TestPieces: however a text is cut, the pieces become what the whole becomes,
// and no more is held back than a shortcode.
func TestPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{":wave:", ":", "wave", ":+1", "`", "```", "\n", " ", "a", "did:key:z6", ":unknown:", "é", "👋", "x:", "/", ":a_very_long_name_that_is_too_long_to_be_one:"})).Draw(t, "parts")
		text := []rune(strings.Join(parts, ""))
		var got strings.Builder
		given := 0
		w := chat.NewEmojiWriter(func(s string) error { got.WriteString(s); return nil })
		for len(text) > given {
			n := rapid.IntRange(1, min(7, len(text)-given)).Draw(t, "n")
			if err := w.Write(string(text[given : given+n])); err != nil {
				t.Fatal(err)
			}
			given += n
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := chat.ReplaceEmoji(string(text)); got.String() != want {
			t.Fatalf("in pieces %q, whole %q", got.String(), want)
		}
	})
}

// TestHeldBack: only what may be a shortcode waits.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	var got []string
	w := chat.NewEmojiWriter(func(s string) error { got = append(got, s); return nil })
	for _, piece := range []string{"hello ", ":wa", "ve", ":", " you", ":", " ok :", "smile"} {
		if err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if have, want := strings.Join(got, "|"), "hello |👋 you|:| ok |:smile"; have != want {
		t.Errorf("got %q, want %q", have, want)
	}
	full := errors.New("full")
	w = chat.NewEmojiWriter(func(string) error { return full })
	if err := w.Write("x"); !errors.Is(err, full) {
		t.Errorf("Write() = %v, want the error of out", err)
	}
	if err := errors.Join(w.Write(" :x"), w.Flush()); !errors.Is(err, full) {
		t.Errorf("Flush() = %v, want the error of out", err)
	}
}

// TestTable: each entry is one name and one character, and no name stands twice.
func TestEmojiTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for entry := range strings.FieldsSeq(chat.EmojiTable) {
		name, char, ok := strings.Cut(entry, "=")
		if !ok || name == "" || char == "" || seen[name] || chat.ReplaceEmoji(":"+name+":") != char {
			t.Errorf("entry %q", entry)
		}
		seen[name] = true
	}
	if len(seen) < 400 {
		t.Errorf("%d shortcodes", len(seen))
	}
}

func BenchmarkEmojiWriter(b *testing.B) {
	w := chat.NewEmojiWriter(func(string) error { return nil })
	b.ReportAllocs()
	for b.Loop() {
		_ = w.Write("word ")
	}
}
