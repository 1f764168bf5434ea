import { errorTable } from '@plinth/kernel'

/** All errors of this package. */
export const migrationError = errorTable(
  {
    PLINTH_MIGRATION_INVALID: `Change set {{changeSet}} is written wrongly: {{reason}}.
    Correct the change set; the README of @plinth/migrations shows the form.`,
    PLINTH_MIGRATION_BREAKING: `Change set {{changeSet}} may lose data or break the running version: {{reason}}.
    Add tables, nullable columns and indexes instead, or say in \`breaking\` why it is safe.`,
    PLINTH_MIGRATION_CHECKSUM: `Change set {{changeSet}} was applied on {{appliedAt}} and has been changed since.
    Restore the change set as it was applied and put the change into a new one.`,
    PLINTH_MIGRATION_FOREIGN_TABLES: `The database contains tables that this product does not know but is about to create: {{tables}}. Nothing was changed.
    Use an empty database. If no other product uses these tables, remove them and run the migration again.`,
    PLINTH_MIGRATION_LOCKED: `Another process ({{holder}}) has been migrating this database for longer than {{seconds}} s.
    Wait until it ends, or stop it; its lock lapses {{lease}} s after its last sign of life.`,
    PLINTH_MIGRATION_LOCK_LOST: `Another process took over the migration lock while change set {{changeSet}} ran; that step was not committed.
    Start again: what is left is found from the changelog.`,
    PLINTH_MIGRATION_ABORTED: `The migration was stopped before {{place}}.
    Run it again: it goes on where it stopped.`,
    PLINTH_MIGRATION_FAILED: `Change set {{changeSet}} failed at {{place}}: {{reason}}.
    Fix the cause and run the migration again: {{resumption}}{{detail}}.`,
  },
  { unavailable: ['PLINTH_MIGRATION_LOCKED', 'PLINTH_MIGRATION_LOCK_LOST'] },
)
