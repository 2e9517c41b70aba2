package check

// Nearest is the name that needs the fewest edits from text, "" when all need
// many.
func Nearest(text string, names []string) string {
	best, least := "", len(text)/3+1
	for _, name := range names {
		if n := edits(text, name); n < least {
			best, least = name, n
		}
	}
	return best
}

// edits is the number of bytes to insert, delete or replace to get from a to b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
