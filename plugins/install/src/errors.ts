import { errorTable } from '@plinth/kernel'

/** All coded errors of this plugin, except those of the `.env` writer, which the page shows. */
export const installError = errorTable({
  PLINTH_INSTALL_ANSWERS: `The installation answers are invalid: {{reason}}.
    Correct the answers file, the option or the variable. \`plinth install --help\` lists the fields.`,
  PLINTH_INSTALL_DATABASE_UNUSABLE: `The configured database cannot be used, so the product runs on an empty database in memory: {{reason}}
    Start the database, or correct the connection on the installation page or in the .env file.`,
  PLINTH_INSTALL_STATE_LOST: `The product was installed on this host, but the database contains no installation. The installer stays locked.
    Restore the database, or correct platform.database.*, and start again. To install from scratch, remove {{marker}} and start again.`,
})
