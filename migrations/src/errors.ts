import { PlinthError } from '@plinth/kernel'

/** Every error of this package: what happened, and what to do about it. `{name}` marks a detail that is filled in. */
export const migrationErrors = {
  PLINTH_MIGRATION_INVALID: {
    text: 'Change set {changeSet} is written wrongly: {reason}.',
    fix: 'Correct the change set; the README of @plinth/migrations shows the form.',
  },
  PLINTH_MIGRATION_BREAKING: {
    text: 'Change set {changeSet} may lose data or break the running version: {reason}.',
    fix: 'Add tables, nullable columns and indexes instead, or say in `breaking` why it is safe.',
  },
  PLINTH_MIGRATION_CHECKSUM: {
    text: 'Change set {changeSet} was applied on {appliedAt} and has been changed since.',
    fix: 'Restore the change set as it was applied and put the change into a new one.',
  },
  PLINTH_MIGRATION_LOCKED: {
    text: 'Another process ({holder}) has been migrating this database for longer than {seconds} s.',
    fix: 'Wait until it ends, or stop it; its lock lapses {lease} s after its last sign of life.',
  },
  PLINTH_MIGRATION_LOCK_LOST: {
    text: 'Another process took over the migration lock while change set {changeSet} ran; that step was not committed.',
    fix: 'Start again: what is left is found from the changelog.',
  },
  PLINTH_MIGRATION_ABORTED: {
    text: 'The migration was stopped before {place}.',
    fix: 'Run it again: it goes on where it stopped.',
  },
  PLINTH_MIGRATION_FAILED: {
    text: 'Change set {changeSet} failed at {place}: {reason}.',
    fix: 'Mend the cause and run the migration again: it goes on with this step.',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type MigrationErrorCode = keyof typeof migrationErrors

export function migrationError(
  code: MigrationErrorCode,
  details: Readonly<Record<string, string | number>>,
  cause?: unknown,
): PlinthError {
  const fill = (template: string) =>
    template.replace(/\{(\w+)\}/g, (whole, name: string) => String(details[name] ?? whole))
  const { text, fix } = migrationErrors[code]
  return new PlinthError(code, fill(text), fill(fix), { cause })
}
