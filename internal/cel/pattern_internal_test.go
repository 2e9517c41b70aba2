package cel

import (
	"errors"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What is measured is never less than what the compiler makes of it.
func TestExtentIsAnUpperBound(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "a", "abc", "(?i:Kilo)", "a|b|cd|", "(a)(b)?", "[a-z]+", "[^b]{0,247}b", `\pL{1,125}[\pL ]{0,120}`, "x{2,}", "x{0,}", "(?:a|bc){3,5}", "(?:a*b?){7}",
		`\A(?:[A-Za-z ]{2,100})\z`, "(?:aaaaa|bbbbb){40}", `^\+?[0-9]{7,15}$`, ".*.+.?", "(?s:.){1,9}", `\bab\B`, "(?m:^a$)", "a{0}", "((a){2}){3}", "(?:|a|b){9}", "[aA]", "[^a]",
	} {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatalf("Parse(%s) = %v", text, err)
		}
		got := extentOf(tree)
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatalf("Compile(%s) = %v", text, err)
		}
		size, runes := 0, 0
		for _, in := range prog.Inst {
			if in.Op != syntax.InstFail && in.Op != syntax.InstMatch {
				size, runes = size+1, runes+len(in.Rune)
			}
		}
		if got.size < size || got.runes < runes {
			t.Errorf("extentOf(%s) = %+v, want at least %d and %d", text, got, size, runes)
		}
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"^abc$": 3, "^(?:a|bcd)?e": 4, "^[a-z]{2,7}": 7, "^a*": endless, "^(?:ab)+": endless, "^a{2,}": endless, "^(?:^)*a": 1, "abc": endless, "^a|b": endless, "(^a)": endless,
	} {
		p, err := NewPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if p.extent.reach != want {
			t.Errorf("the reach of %s = %d, want %d", text, p.extent.reach, want)
		}
	}
}

func TestNewPatternRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat(".{0,1000}", 55), "[a-z]{1,1000}", `\pL{1,300}`, "(?:(?:a{10}){10}){10}", strings.Repeat(`\PL\pL`, 120),
	} {
		if _, err := NewPattern(text); !errors.Is(err, ErrPatternSize) {
			t.Errorf("NewPattern(%.30s) = %v, want ErrPatternSize", text, err)
		}
	}
	for _, text := range []string{"(", "(?=a)", "a**", `\Qa)`, "[a", `a\`} {
		if _, err := NewPattern(text); (err == nil) != (text == `\Qa)`) || errors.Is(err, ErrPatternSize) {
			t.Errorf("NewPattern(%s) = %v", text, err)
		}
	}
}

// The dearest patterns that are taken stay within what is promised of them,
// with room for a slow machine.
func TestPatternsKeepTheirPromise(t *testing.T) {
	for _, text := range []string{"(?:.*.?){20}", "(?:.*(?:a|b|.)){24}", `^\pL{1,90}$`, `^[\pL ]{1,60}$`, "^.{0,300}.{0,10}$"} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		p, err := NewPattern(text)
		if err != nil {
			t.Fatalf("NewPattern(%s) = %v", text, err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if took := int(after.HeapAlloc) - int(before.HeapAlloc); took > p.Weight()+64<<10 {
			t.Errorf("%s takes %d bytes, more than its weight of %d", text, took, p.Weight())
		}
		if !p.Fits(longestText) {
			t.Errorf("%s does not fit: %+v", text, p.extent)
		}
		best := time.Hour
		for range 5 {
			start := time.Now()
			p.Match([]byte(strings.Repeat("a", longestText)))
			best = min(best, time.Since(start))
		}
		if best > 200*time.Millisecond {
			t.Errorf("%s took %v", text, best)
		}
		runtime.KeepAlive(p)
	}
}
