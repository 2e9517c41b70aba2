package estimate

// Suppress says which cells of a table may not be shown: those with fewer
// households than least, those that are hidden for another reason, and, so that
// the total does not reveal them, the next smallest until at least two are
// hidden and they have at least least households together.
func Suppress(counts []int, also []bool, least int) []bool {
	hidden := make([]bool, len(counts))
	sum, cells := 0, 0
	hide := func(i int) {
		hidden[i] = true
		sum, cells = sum+counts[i], cells+1
	}
	for i, n := range counts {
		if n > 0 && (n < least || also[i]) {
			hide(i)
		}
	}
	for cells > 0 && (cells < 2 || sum < least) {
		next := -1
		for i, n := range counts {
			if !hidden[i] && n > 0 && (next < 0 || n < counts[next]) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		hide(next)
	}
	return hidden
}
