import { errorTable } from '@plinth/kernel'

/** All coded errors of this plugin, except those of the `.env` writer, which the page shows. */
export const installError = errorTable({
  PLINTH_INSTALL_ANSWERS: `The answers cannot be used: {{reason}}.
    Correct the answers file, the option or the variable; \`plinth install --help\` lists the fields.`,
  PLINTH_INSTALL_DATABASE_UNUSABLE: `The configured database cannot be used, so the product runs on an empty one in memory: {{reason}}
    Start the database, or correct the connection on the install page or in the settings file.`,
  PLINTH_INSTALL_STATE_LOST: `This machine was installed, but its database knows nothing of it, so the installation stays closed.
    Restore the database, or correct platform.database.*, and start again. Only if it is to be installed anew: remove {{marker}} and start again.`,
})
