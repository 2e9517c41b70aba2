package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/client"
)

func readingStages() []stage {
	return []stage{{"readings", false, (*loader).readings}, {"days of monitors", false, (*loader).days}}
}

// days makes the figures of days from the readings, so that charts are complete at
// once and not only after the next run of the job.
func (l *loader) days(ctx context.Context) error { return l.s.cfg.Days(ctx) }

// readings sends what the monitors have measured, all of one in a batch.
func (l *loader) readings(ctx context.Context) error {
	l.counts.Readings = 0
	for i := range l.size(monitors) {
		h := &l.homes[i]
		all := l.measured(i)
		battery := float64(55 + l.dice(fmt.Sprint("battery/", i)).IntN(40))
		out, err := l.owner.Devices.Add(ctx, l.dids[h.monitor()], client.ReadingBatch{
			Readings: all, Status: &client.DeviceReport{Battery: &battery, LastSync: all[len(all)-1].Timestamp},
		})
		if err != nil {
			return fmt.Errorf("%s: %w", h.monitor(), err)
		}
		l.counts.Readings += out.Accepted + out.Duplicates
	}
	return nil
}

// gaveUp reports whether the household at a place among all has given its stove up.
func gaveUp(i int) bool { return i%6 == 5 }

// measured is what the monitor on the stove of a household has measured: the
// temperature of each hour. Most cook in the morning, at noon and in the evening;
// one in six has given the stove up.
func (p *plan) measured(i int) []client.Reading {
	d := p.dice(fmt.Sprint("readings/", i))
	use := 0.75 + 0.2*d.Float64()
	if gaveUp(i) {
		use = 0.005
	}
	n := p.size(days)
	out := make([]client.Reading, 0, 24*n)
	for day := n; day > 0; day-- {
		begin := p.day(day)
		today := use
		if !gaveUp(i) && p.isTested(i, day) {
			today = 1 // households cook more when they are watched
		}
		morning, noon, evening := d.Float64() < today, d.Float64() < today*0.8, d.Float64() < today
		for hour := range 24 {
			local := (hour + 3) % 24
			t := 19 + 8*float64(min(local, 24-local))/12 + 2*d.Float64()
			switch {
			case morning && (local == 6 || local == 7), noon && local == 12, evening && (local == 18 || local == 19):
				t = 120 + 140*d.Float64()
			case morning && local == 8, noon && local == 13, evening && local == 20:
				t = 40 + 15*d.Float64() // it cools down
			}
			t = round(t, 1)
			out = append(out, client.Reading{Timestamp: begin.Add(time.Duration(hour) * time.Hour), Temperature: &t})
		}
	}
	return out
}
