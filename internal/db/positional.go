package db

import (
	"fmt"
	"strings"
)

// positional replaces $1, $2, … with plain question marks and returns which
// parameter is at each. The driver finds a numbered parameter by comparing its
// name with every argument, which for a wide row costs as much as storing it.
// Quoted texts and comments are left alone.
func positional(sql string) (text string, order []int) {
	var b strings.Builder
	b.Grow(len(sql))
	for i := 0; i < len(sql); {
		n := skip(sql[i:])
		if n > 0 {
			b.WriteString(sql[i : i+n])
			i += n
			continue
		}
		number, digits := 0, 0
		for sql[i] == '$' && i+1+digits < len(sql) && digits < 5 && '0' <= sql[i+1+digits] && sql[i+1+digits] <= '9' {
			number = number*10 + int(sql[i+1+digits]-'0')
			digits++
		}
		if digits == 0 {
			b.WriteByte(sql[i])
			i++
			continue
		}
		b.WriteByte('?')
		order = append(order, number)
		i += 1 + digits
	}
	return b.String(), order
}

// skip is the length of the quoted text or comment that s begins with, 0 when
// it begins with neither.
func skip(s string) int {
	for _, mark := range []struct{ begin, end string }{{"'", "'"}, {`"`, `"`}, {"--", "\n"}, {"/*", "*/"}} {
		if rest, ok := strings.CutPrefix(s, mark.begin); ok {
			if at := strings.Index(rest, mark.end); at >= 0 {
				return len(mark.begin) + at + len(mark.end)
			}
			return len(s)
		}
	}
	return 0
}

// checkCount requires one argument for each parameter, as PostgreSQL does.
func checkCount(order []int, args []any) error {
	most := 0
	for _, n := range order {
		if n < 1 {
			return fmt.Errorf("there is no parameter $%d", n)
		}
		most = max(most, n)
	}
	if most != len(args) {
		return fmt.Errorf("the statement has %d parameters, and %d were given", most, len(args))
	}
	return nil
}
