package search

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// TypesLike finds the types that a word may mean, among those of the newest
// thousand twins the caller may see: the same in another case, the singular of a
// plural, or those that end with the word; of these the first that any has.
func (s *Service) TypesLike(ctx context.Context, q db.Querier, word string) ([]string, error) {
	found, err := s.List(ctx, q, entity.Query{Sort: "-created", Limit: maxItems})
	if err != nil {
		return nil, err
	}
	near := map[int][]string{}
	for _, r := range found.Rows {
		if d := distance(r.Type, word); d >= 0 && !slices.Contains(near[d], r.Type) {
			near[d] = append(near[d], r.Type)
		}
	}
	for d := range 3 {
		if len(near[d]) > 0 {
			slices.Sort(near[d])
			return near[d], nil
		}
	}
	return nil, nil
}

// distance is how far a word is from the name of a type, -1 when it does not
// mean it.
func distance(name, word string) int {
	name, word = strings.ToLower(name), strings.ToLower(word)
	if name == word {
		return 0
	}
	one := strings.TrimSuffix(word, "s")
	if name == one || name == strings.TrimSuffix(word, "es") || name == strings.TrimSuffix(word, "ies")+"y" || name == word+"s" {
		return 1
	}
	if len(one) > 2 && strings.HasSuffix(name, one) {
		return 2
	}
	return -1
}

// meant says which type may have been meant where no twin has the one asked for.
func (s *Service) meant(ctx context.Context, query entity.Query, found entity.Found) (string, error) {
	if query.Type == "" || query.After != nil || len(found.Rows) > 0 || found.Next != nil {
		return "", nil
	}
	any, err := s.List(ctx, s.cfg.DB, entity.Query{Type: query.Type, Limit: 1})
	if err != nil || len(any.Rows) > 0 {
		return "", err
	}
	like, err := s.TypesLike(ctx, s.cfg.DB, query.Type)
	if err != nil || len(like) == 0 {
		return "", err
	}
	return "No twin has the type " + query.Type + ". Did you mean " + strings.Join(like, " or ") + "?", nil
}
