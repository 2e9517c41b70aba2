package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/client"
)

// Protocols of the twins.
const (
	organisationProtocol = "did:ixo:protocol/organisation"
	projectProtocol      = "did:ixo:protocol/project"
	personProtocol       = "did:ixo:protocol/person"
	stoveProtocol        = "did:ixo:protocol/clean-cooking"
)

func twinStages() []stage {
	return []stage{
		{"organisations and people", true, (*loader).organise},
		{"households", true, (*loader).households},
		{"stoves", true, (*loader).stoves},
	}
}

// External ids of the twins there is one of.
const (
	implementer = "demo-organisation-1" // runs the programme
	auditors    = "demo-organisation-2" // checks it
	project     = "demo-project"
)

// team is a membership group, its scopes, and its members.
type team struct {
	organisation, name string
	scopes             []string
	members            []person
}

// person is a person who works in the programme.
type person struct{ external, name, language string }

// Scopes of the groups: those of the roles of the same name, as far as the groups
// need them.
var (
	managing   = []string{"analytics:read", "devices:*", "entities:read", "entities:pii", "entities:write", "events:read", "exports:*", "groups:read", "imports:*", "jobs:read", "protocols:read", "responses:pii", "responses:read", "responses:write", "sampling:read", "sampling:write", "surveys:*", "templates:*", "webhooks:*", "oracle:*", "sessions:*"}
	collecting = []string{"devices:read", "entities:read", "protocols:read", "responses:read", "responses:write", "sampling:read", "surveys:read", "templates:read"}
	checking   = []string{"devices:read", "entities:read", "jobs:read", "protocols:read", "responses:check", "responses:read", "sampling:read", "surveys:assign", "surveys:read", "templates:read"}
	verifying  = []string{"audit:read", "claims:evaluate", "claims:read", "credentials:read", "credentials:write", "devices:read", "entities:read", "entities:verify", "jobs:read", "protocols:read", "responses:read", "responses:verify", "sampling:read", "sampling:witness", "surveys:read", "templates:read"}
)

// Numbers of people.
const (
	collectors = 8
	verifiers  = 2
)

func collectorID(i int) string { return fmt.Sprintf("demo-collector-%d", i+1) }
func verifierID(i int) string  { return fmt.Sprintf("demo-verifier-%d", i+1) }

const (
	managerID    = "demo-manager"
	supervisorID = "demo-supervisor"
)

// teams are the groups of the demo with their people.
func (p *plan) teams() []team {
	taken := map[string]bool{}
	name := func(external string) person {
		d := p.dice("person/" + external)
		for {
			full := pick(d, slices.Concat(women, men)...) + " " + pick(d, families...)
			if !taken[full] {
				taken[full] = true
				return person{external, full, pick(d, "en", "sw")}
			}
		}
	}
	field := team{implementer, "Field team", collecting, nil}
	for i := range collectors {
		field.members = append(field.members, name(collectorID(i)))
	}
	desk := team{auditors, "Verifiers", verifying, nil}
	for i := range verifiers {
		desk.members = append(desk.members, name(verifierID(i)))
	}
	return []team{
		{implementer, "Management", managing, []person{name(managerID)}},
		field,
		{implementer, "Supervisors", checking, []person{name(supervisorID)}},
		desk,
	}
}

// organise makes the organisations, their project, and their groups with the people
// in them.
func (l *loader) organise(ctx context.Context) error {
	l.counts.Organisations, l.counts.Groups, l.counts.People = 0, 0, 0
	for _, o := range []struct{ external, name, about string }{
		{implementer, "Ukambani Clean Cooking", "Gives out improved stoves in Kitui, Makueni and Machakos, and follows how they are used."},
		{auditors, "Savanna Verification", "Verifies what programmes of others claim."},
	} {
		draft := client.EntityDraft{
			Type: "Organisation", Protocol: organisationProtocol, ExternalIDs: known(o.external),
			Properties: client.Object{"name": o.name, "country": "Kenya", "description": o.about},
		}
		if err := l.entity(ctx, o.external, draft); err != nil {
			return err
		}
		l.counts.Organisations++
	}
	err := l.entity(ctx, project, client.EntityDraft{
		Type: "Project", Protocol: projectProtocol, ExternalIDs: known(project),
		Properties: client.Object{
			"name": "Ukambani stoves", "country": "Kenya", "methodology": "VM0050", "startDate": l.day(days).Format(time.DateOnly),
			"description": "A demo: 300 households in three districts cook with improved stoves.",
		},
		Relationships: []client.RelationshipDraft{{Role: "implementedBy", Target: l.dids[implementer]}},
	})
	if err != nil {
		return err
	}
	if err := setProject(ctx, l.s.db, l.row, l.dids[project]); err != nil {
		return err
	}
	for _, t := range l.teams() {
		if err := l.team(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// entity makes a twin.
func (l *loader) entity(ctx context.Context, external string, d client.EntityDraft) error {
	_, err := l.twin(ctx, external, func(o client.Option) (string, error) {
		e, err := l.owner.Entities.Create(ctx, d, o)
		if err != nil {
			return "", err
		}
		return e.DID, nil
	})
	return err
}

// team makes a group and its members.
func (l *loader) team(ctx context.Context, t team) error {
	group, err := l.group(ctx, t)
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	l.counts.Groups++
	for _, m := range t.members {
		err := l.entity(ctx, m.external, client.EntityDraft{
			Type: "Person", Protocol: personProtocol, ExternalIDs: known(m.external),
			Properties: client.Object{"name": m.name, "language": m.language}, Metadata: client.Object{"name": m.name},
		})
		if err != nil {
			return err
		}
		if _, err := l.owner.Groups.Add(ctx, group, l.dids[m.external]); err != nil {
			return fmt.Errorf("%s: %w", m.external, err)
		}
		l.names[m.external] = m.name
		l.counts.People++
	}
	return nil
}

// group makes a group, or finds the one of its name.
func (l *loader) group(ctx context.Context, t team) (string, error) {
	in := l.dids[t.organisation]
	for g, err := range l.owner.Groups.List(ctx, in, client.PageQuery{}) {
		if err != nil {
			return "", err
		}
		if g.Name == t.name {
			return g.DID, nil
		}
	}
	g, err := l.owner.Groups.Create(ctx, in, client.GroupDraft{Name: t.name, Scopes: t.scopes}, l.once("group/%s", t.name))
	if err != nil {
		return "", err
	}
	return g.DID, nil
}

// households makes the households.
func (l *loader) households(ctx context.Context) error {
	l.counts.Households = 0
	for i := range l.homes {
		h, yes := &l.homes[i], true
		_, err := l.twin(ctx, h.external(), func(o client.Option) (string, error) {
			made, err := l.owner.Households.Create(ctx, client.HouseholdDraft{
				Name: h.name, Phone: h.phone, Size: &h.size, Consent: &yes, Project: l.dids[project], ExternalIDs: known(h.external()),
				Location: client.Object{"district": h.district.name, "density": h.district.density, "coordinates": client.Object{"lat": h.lat, "lon": h.lon}},
				Baseline: client.Object{"fuelType": h.fuel, "monthlyConsumption": h.monthly},
				Metadata: client.Object{"name": h.name},
			}, o)
			if err != nil {
				return "", err
			}
			return made.DID, nil
		})
		if err != nil {
			return err
		}
		l.counts.Households++
	}
	return nil
}

// stoves makes the stove of each household, and monitors on some of them.
func (l *loader) stoves(ctx context.Context) error {
	l.counts.Stoves, l.counts.Monitors = 0, 0
	for i := range l.homes {
		h, d := &l.homes[i], l.dice(fmt.Sprint("stove/", i))
		err := l.entity(ctx, h.stove(), client.EntityDraft{
			Type: "CleanCookingDevice", Protocol: stoveProtocol, ExternalIDs: map[string]string{Scheme: h.stove(), "serial": h.serial()},
			Properties: client.Object{
				"fuel_type": h.fuel, "efficiency": 34 + d.IntN(8), "serial": h.serial(), "model": pick(d, "Jiko Bora 2", "Jiko Bora 3"),
				"manufacturer": "Jiko Bora Works", "installedAt": l.installed(i).Format(time.DateOnly), "lifetime": "P5Y",
			},
			Metadata: client.Object{"name": "Stove " + h.serial(), "district": h.district.name},
			Relationships: []client.RelationshipDraft{
				{Role: "household", Target: l.dids[h.external()], Since: l.installed(i)},
				{Role: "project", Target: l.dids[project], Since: l.installed(i)},
			},
		})
		if err != nil {
			return err
		}
		l.counts.Stoves++
	}
	for i := range l.size(monitors) {
		h := &l.homes[i]
		_, err := l.twin(ctx, h.monitor(), func(o client.Option) (string, error) {
			made, err := l.owner.Devices.Create(ctx, client.DeviceDraft{
				Type: "StoveUseMonitor", HouseholdID: l.dids[h.external()], StoveID: l.dids[h.stove()], Project: l.dids[project],
				Serial: fmt.Sprintf("SUM-%05d", 70000+h.n), Name: "Monitor of " + h.serial(), ExternalIDs: known(h.monitor()),
				Configuration: &client.DeviceConfiguration{SamplingRate: 3600, TemperatureThreshold: 60, TransmissionMode: "batch"},
			}, o)
			if err != nil {
				return "", err
			}
			return made.DID, nil
		})
		if err != nil {
			return err
		}
		l.counts.Monitors++
	}
	return nil
}

// serial is the number on the plate of the stove of a household.
func (h *home) serial() string { return fmt.Sprintf("JB-%05d", 20000+h.n) }

// installed is the day a household got its stove: all of them in the first days.
func (p *plan) installed(i int) time.Time { return p.day(days - i%10) }

// externals are the external ids of all twins of the plan.
func (p *plan) externals() []string {
	out := []string{implementer, auditors, project, oracleID}
	for _, t := range p.teams() {
		for _, m := range t.members {
			out = append(out, m.external)
		}
	}
	for _, h := range p.homes() {
		out = append(out, h.external(), h.stove(), h.monitor())
	}
	return out
}
