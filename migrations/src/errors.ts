import { errorTable } from '@plinth/kernel'

export const migrationError = errorTable(
  {
    PLINTH_MIGRATION_INVALID: `Change set {{changeSet}} is invalid: {{reason}}.
    Correct the change set. The README of @plinth/migrations describes the format.`,
    PLINTH_MIGRATION_BREAKING: `Change set {{changeSet}} may lose data or break the running version: {{reason}}.
    Add tables, nullable columns and indexes instead, or explain in \`breaking\` why the change is safe.`,
    PLINTH_MIGRATION_TABLE_OF_OTHER: `Change set {{changeSet}} changes the table {{table}}, which belongs to plugin "{{owner}}".
    Create a table of your own that refers to its rows by id, or ask the author of "{{owner}}" for the change.`,
    PLINTH_MIGRATION_CHECKSUM: `Change set {{changeSet}} was applied on {{appliedAt}} and has been changed since.
    Restore the change set as it was applied, and put the change into a new change set{{way}}.`,
    PLINTH_MIGRATION_NO_WAY_BACK: `Change set {{changeSet}} cannot be taken back: {{reason}}. Nothing was changed.
    Put the change into a new change set. In development, \`plinth plugins remove {{plugin}} --yes\` deletes all data of the plugin, and the next start applies its change sets again.`,
    PLINTH_MIGRATION_FOREIGN_TABLES: `The database already contains tables that this product is about to create: {{tables}}. Nothing was changed.
    Use an empty database. If no other product uses these tables, remove them and run the migration again.`,
    PLINTH_MIGRATION_LOCKED: `Another process ({{holder}}) has been migrating this database for longer than {{seconds}} s.
    Wait until it ends, or stop it. If it is dead, its lock expires {{lease}} s after the last renewal.`,
    PLINTH_MIGRATION_LOCK_LOST: `Another process took over the migration lock while change set {{changeSet}} was running. This step was not committed.
    Run the migration again. It continues with the change sets that are missing in the changelog.`,
    PLINTH_MIGRATION_ABORTED: `The migration was stopped before {{place}}.
    Run the migration again. It continues where it stopped.`,
    PLINTH_MIGRATION_FAILED: `Change set {{changeSet}} failed at {{place}}: {{reason}}.
    Correct the cause and run the migration again: {{resumption}}{{detail}}.`,
  },
  { unavailable: ['PLINTH_MIGRATION_LOCKED', 'PLINTH_MIGRATION_LOCK_LOST'] },
)
