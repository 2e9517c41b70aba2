-- On PostgreSQL this lets calls and deliveries be kept in parts. Here it takes nothing away,
-- so a program before it opens the store.
SELECT 1;
