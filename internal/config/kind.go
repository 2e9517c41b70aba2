package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"
)

// Names of kinds that other files ask for.
const (
	kindBool = "boolean"
	kindURL  = "url"
)

// kind is how text becomes a T and back. The errors of parse never repeat the
// text: it may be a secret.
type kind[T any] struct {
	name   string   // in the generated table
	want   string   // completes "want …"
	list   bool     // a file may give a sequence
	words  []string // all values there are, when they can be listed
	parse  func(string) (T, error)
	format func(T) string
}

func same(s string) string { return s }

var errForm = errors.New("is not valid")

// text is any single line of at most limit bytes.
func text(limit int) kind[string] {
	return kind[string]{
		name: "text", want: fmt.Sprintf("one line of at most %d bytes", limit),
		parse: func(s string) (string, error) {
			if len(s) > limit {
				return "", errors.New("is too long")
			}
			return s, plain(s)
		},
		format: same,
	}
}

// plain refuses control characters, which no setting needs and which would
// spoil logs and headers.
func plain(s string) error {
	for _, r := range s {
		if r < 0x20 || r == 0x7f || r == '\uFFFD' {
			return errors.New("holds a control character or broken UTF-8")
		}
	}
	return nil
}

// secret is a Secret that is empty or at least least characters long.
func secret(least int) kind[Secret] {
	want := "one line of at most 4096 bytes"
	if least > 0 {
		want = fmt.Sprintf("%d characters or more", least)
	}
	return kind[Secret]{
		name: "secret", want: want,
		parse: func(s string) (Secret, error) {
			if s != "" && len([]rune(s)) < least {
				return "", errors.New("is too short")
			}
			if len(s) > 4096 {
				return "", errors.New("is too long")
			}
			return Secret(s), plain(s)
		},
		format: Secret.Reveal,
	}
}

// boolean reads the words people use for yes and no.
func boolean() kind[bool] {
	return kind[bool]{
		name: kindBool, want: "true or false",
		parse: func(s string) (bool, error) {
			switch strings.ToLower(s) {
			case "true", "1", "yes", "on":
				return true, nil
			case "false", "0", "no", "off":
				return false, nil
			}
			return false, errForm
		},
		format: strconv.FormatBool,
	}
}

// integer is a whole number from lo to hi.
func integer(lo, hi int) kind[int] {
	return kind[int]{
		name: "integer", want: fmt.Sprintf("a whole number from %d to %d", lo, hi),
		parse: func(s string) (int, error) {
			n, err := strconv.Atoi(s)
			switch {
			case errors.Is(err, strconv.ErrRange):
				return 0, errors.New("is out of range")
			case err != nil:
				return 0, errForm
			case n < lo || n > hi:
				return 0, errors.New("is out of range")
			}
			return n, nil
		},
		format: strconv.Itoa,
	}
}

// ratio is a number from 0 to 1.
func ratio() kind[float64] {
	return kind[float64]{
		name: "number", want: "a number from 0 to 1",
		parse: func(s string) (float64, error) {
			f, err := strconv.ParseFloat(s, 64)
			if err != nil || math.IsNaN(f) {
				return 0, errForm
			}
			if f < 0 || f > 1 {
				return 0, errors.New("is out of range")
			}
			return f, nil
		},
		format: func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) },
	}
}

// size is a number of bytes, with an optional unit.
func size(lo, hi int64) kind[int64] {
	return kind[int64]{
		name: "size", want: fmt.Sprintf("bytes from %s to %s, as in 65536, 64KiB or 1MiB", formatSize(lo), formatSize(hi)),
		parse: func(s string) (int64, error) {
			n, err := parseSize(s)
			if err == nil && (n < lo || n > hi) {
				err = errors.New("is out of range")
			}
			return n, err
		},
		format: formatSize,
	}
}

func parseSize(s string) (int64, error) {
	number, unit := strings.TrimRight(s, "BKMGTibkmgt"), int64(1)
	switch strings.ToLower(s[len(number):]) {
	case "", "b":
	case "k", "kib", "kb":
		unit = 1 << 10
	case "m", "mib", "mb":
		unit = 1 << 20
	case "g", "gib", "gb":
		unit = 1 << 30
	default:
		return 0, errors.New("has an unknown unit")
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil {
		return 0, errForm
	}
	if n < 0 || n > math.MaxInt64/unit {
		return 0, errors.New("is out of range")
	}
	return n * unit, nil
}

func formatSize(n int64) string {
	switch {
	case n != 0 && n%(1<<30) == 0:
		return strconv.FormatInt(n>>30, 10) + "GiB"
	case n != 0 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MiB"
	case n != 0 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KiB"
	}
	return strconv.FormatInt(n, 10)
}

// duration is a time span from lo to hi, and 0 as well when zero is true. A
// number alone is in seconds.
func duration(lo, hi time.Duration, zero bool) kind[time.Duration] {
	want := fmt.Sprintf("a duration from %s to %s, as in 90s, 15m, 24h or 30d (a number alone is seconds)", formatDuration(lo), formatDuration(hi))
	if zero {
		want = "0 or " + want
	}
	return kind[time.Duration]{
		name: "duration", want: want,
		parse: func(s string) (time.Duration, error) {
			d, err := parseDuration(s)
			if err != nil {
				return 0, err
			}
			if (d < lo || d > hi) && !(zero && d == 0) {
				return 0, errors.New("is out of range")
			}
			return d, nil
		},
		format: formatDuration,
	}
}

func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil {
			return 0, errForm
		}
		return units(n, 24*time.Hour)
	}
	if n, err := strconv.Atoi(s); err == nil {
		return units(n, time.Second)
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errForm
	}
	return d, nil
}

// units is n times unit, refused when it does not fit.
func units(n int, unit time.Duration) (time.Duration, error) {
	if n < 0 || int64(n) > math.MaxInt64/int64(unit) {
		return 0, errors.New("is out of range")
	}
	return time.Duration(n) * unit, nil
}

func formatDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// counted is a time span written as a bare number of unit.
func counted(name string, unit time.Duration, lo, hi int) kind[time.Duration] {
	n := integer(lo, hi)
	return kind[time.Duration]{
		name: name, want: n.want,
		parse: func(s string) (time.Duration, error) {
			v, err := n.parse(s)
			return time.Duration(v) * unit, err
		},
		format: func(d time.Duration) string { return strconv.FormatInt(int64(d/unit), 10) },
	}
}

// oneOf is one of words; case does not matter, the value is as listed here.
func oneOf(words ...string) kind[string] {
	return kind[string]{
		name: "choice", want: "one of " + strings.Join(words, ", "), words: words,
		parse: func(s string) (string, error) {
			for _, w := range words {
				if strings.EqualFold(s, w) {
					return w, nil
				}
			}
			return "", errForm
		},
		format: same,
	}
}

// The levels above error and below debug exist for the names other loggers use.
const (
	levelTrace  = slog.LevelDebug - 4
	levelFatal  = slog.LevelError + 4
	levelSilent = slog.LevelError + 100
)

// logLevel understands slog's names and those of the loggers whose settings
// files people bring along.
func logLevel() kind[slog.Level] {
	words := []string{"trace", "debug", "info", "warn", "error", "fatal", "silent"}
	return kind[slog.Level]{
		name: "choice", want: "one of " + strings.Join(words, ", "), words: words,
		parse: func(s string) (slog.Level, error) {
			switch strings.ToLower(s) {
			case "trace", "verbose":
				return levelTrace, nil
			case "debug":
				return slog.LevelDebug, nil
			case "info", "log":
				return slog.LevelInfo, nil
			case "warn", "warning":
				return slog.LevelWarn, nil
			case "error":
				return slog.LevelError, nil
			case "fatal":
				return levelFatal, nil
			case "silent":
				return levelSilent, nil
			}
			return 0, errForm
		},
		format: func(l slog.Level) string {
			switch l {
			case levelTrace:
				return "trace"
			case levelFatal:
				return "fatal"
			case levelSilent:
				return "silent"
			}
			return strings.ToLower(l.String())
		},
	}
}
