package estimate

// node is a part of the sample at some stage: a stratum, or a cluster in it. It
// has nodes of the next stage, or rows where the stage is the last.
type node struct {
	name string
	// population is how many units there are to draw from. 0 says that it is
	// not known or that they were drawn with replacement: no share of them has
	// been seen, and later stages add nothing to the variance.
	population float64
	nodes      []*node
	rows       []int
}

func (n *node) size() int { return len(n.nodes) + len(n.rows) }

// all reports whether every unit, and all in it, is in the sample.
func (n *node) all() bool {
	for _, one := range n.nodes {
		if !one.all() {
			return false
		}
	}
	return float64(n.size()) == n.population
}

// scores are the linearised variable of a statistic times the weights, whose
// total varies as the statistic does.
type scores struct {
	d *Design
	z []float64
}

func (s scores) total(n *node) float64 {
	sum := 0.0
	for _, one := range n.nodes {
		sum += s.total(one)
	}
	for _, row := range n.rows {
		sum += s.z[row]
	}
	return sum
}

// variance is the variance of the total of scores over the whole design.
func (s scores) variance() float64 {
	sum := 0.0
	for _, h := range s.d.strata {
		sum += covariance(s, s, h, h)
	}
	return max(0, sum)
}

// with is the covariance with a statistic of another sample, over the strata
// and units that are in both.
func (s scores) with(o scores) float64 {
	sum := 0.0
	for _, h := range s.d.strata {
		if g := o.d.stratum(h.name); g != nil {
			sum += covariance(s, o, h, g)
		}
	}
	return sum
}

// covariance is what nodes a and b of two samples add to the covariance of two
// totals. Of n and m units, c are in both: two simple random samples have the
// covariance (c - nm/N) S, with S that of the units in both; what the next stage
// adds is seen in part in S, and the rest is nm/(Nc) of it. With a sample and
// itself this is (1-f) n s² and f times the next stage.
func covariance(x, y scores, a, b *node) float64 {
	px, py, common := pairs(x, y, a, b)
	c := float64(len(px))
	if c == 0 {
		return 0
	}
	expected := 0.0
	if population := max(a.population, b.population); population > 0 {
		expected = float64(a.size()) * float64(b.size()) / population
	}
	sum := 0.0
	if c > 1 {
		mx, my := average(px), average(py)
		for i := range px {
			sum += (px[i] - mx) * (py[i] - my)
		}
		sum *= (c - expected) / (c - 1)
	}
	if expected == 0 {
		return sum
	}
	for _, one := range common {
		sum += expected / c * covariance(x, y, one[0], one[1])
	}
	return sum
}

// pairs are the totals of the units that two nodes have in common, and these
// units where they are nodes.
func pairs(x, y scores, a, b *node) (px, py []float64, common [][2]*node) {
	size := min(a.size(), b.size())
	px, py = make([]float64, 0, size), make([]float64, 0, size)
	if a == b {
		for _, one := range a.nodes {
			px, py = append(px, x.total(one)), append(py, y.total(one))
			common = append(common, [2]*node{one, one})
		}
		for _, row := range a.rows {
			px, py = append(px, x.z[row]), append(py, y.z[row])
		}
		return px, py, common
	}
	names := make(map[string]*node, len(b.nodes))
	for _, one := range b.nodes {
		names[one.name] = one
	}
	for _, one := range a.nodes {
		if other := names[one.name]; other != nil {
			px, py = append(px, x.total(one)), append(py, y.total(other))
			common = append(common, [2]*node{one, other})
		}
	}
	rows := make(map[string]int, len(b.rows))
	for _, row := range b.rows {
		rows[y.d.members[row].ID] = row
	}
	for _, row := range a.rows {
		if other, ok := rows[x.d.members[row].ID]; ok {
			px, py = append(px, x.z[row]), append(py, y.z[other])
		}
	}
	return px, py, common
}

func average(of []float64) float64 {
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(len(of))
}
