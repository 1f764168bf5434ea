import { errorTable } from '@plinth/kernel'

export const backupError = errorTable({
  PLINTH_BACKUP_RECIPIENT: `No backup can be made: {{reason}}.
    Run \`age-keygen\` on another machine, store the printed secret key there, and set platform.backup.recipient to the public key.`,
  PLINTH_BACKUP_OPTIONS: `The command cannot run: {{reason}}.
    See \`plinth backup --help\`.`,
  PLINTH_BACKUP_RUNNING: `Another backup has been running since {{at}}: process {{pid}} on {{host}}.
    Wait until it ends. If its host no longer exists, delete the file {{file}}.`,
  PLINTH_BACKUP_PLACE: `The backups in {{place}} cannot be listed: {{reason}}.
    Check platform.backup.directory and platform.backup.disk, and whether the machine or the bucket responds.`,
  PLINTH_BACKUP_PROGRAM: `The product cannot run \`plinth backup\`: {{reason}}.
    Start the product with \`plinth start\`, without values from standard input.`,
  PLINTH_BACKUP_DATABASE: `The database {{place}} cannot be backed up: {{reason}}.
    Correct the cause, and make the backup again.`,
  PLINTH_BACKUP_TOOL: `The program {{tool}} cannot be used: {{reason}}. Directories searched: {{searched}}.
    Install the client programs of the database server in the version of the server, or set platform.backup.tools-directory to their directory.`,
  PLINTH_BACKUP_DUMP: `The program {{tool}} failed: {{reason}}.
    Correct the cause, and run the command again. Nothing was changed.`,
  PLINTH_BACKUP_PROOF: `The backup is not complete, because its restored copy differs: {{reason}}.
    Run the command again. If it fails again, check the disk and the database. The unfinished backup was removed.`,
  PLINTH_BACKUP_CHECKS: `The backup is not complete, because {{count}} check(s) fail on its restored copy that succeed on the database:{{checks}}
    Correct the cause, and make the backup again. The unfinished backup was removed.`,
  PLINTH_BACKUP_FAILED: `The backup failed: {{reason}}.
    Correct the cause, for example free space on the disk, and make the backup again. The unfinished backup was removed.`,
  PLINTH_BACKUP_UNKNOWN: `There is no complete backup "{{id}}" in {{place}}.
    Run \`plinth backup list\`, and check platform.backup.directory and platform.backup.disk.`,
  PLINTH_BACKUP_KEY: `The identity file does not contain the secret key of this backup. Nothing was restored. The backup needs the key of the recipient {{recipient}}.
    Specify the file with this secret key with --identity.`,
  PLINTH_BACKUP_DAMAGED: `The backup "{{id}}" is damaged: {{reason}}. Nothing was restored.
    Use another backup, or another copy of this one.`,
  PLINTH_BACKUP_SCHEMA_NEWER: `The backup contains change sets that this product does not have: {{changeSets}}. Nothing was restored.
    Install the version of the product that made the backup, with all its plugins, and restore with it.`,
  PLINTH_BACKUP_SCHEMA_OLDER: `The backup was made before these change sets of this product: {{changeSets}}. Nothing was restored.
    Restore with the version of the product that made the backup, or add --older-schema. The next start then applies the change sets.`,
  PLINTH_BACKUP_DIALECT: `The backup contains a database of type {{dialect}}, but platform.database.type is {{configured}}. Nothing was restored.
    Set platform.database.type to {{dialect}}. \`plinth database move\` can move the restored data to another type.`,
  PLINTH_BACKUP_TARGET: `The backup cannot be restored here: {{reason}}. Nothing was restored.
    Restore into an empty database and an empty directory, or move the existing data away.`,
})
