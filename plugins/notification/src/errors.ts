import { errorTable } from '@plinth/kernel'

/** Every coded error of this plugin. */
export const notificationError = errorTable({
  PLINTH_NOTIFICATION_UNKNOWN_CHANNEL: `No loaded plugin brings the default channel "{{channel}}"; loaded: {{loaded}}.{{nearest}}
    Add the plugin of that channel to the product file, or set platform.notification.default-channel to a loaded one.`,
})
