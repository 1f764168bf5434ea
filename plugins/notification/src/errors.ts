import { errorTable } from '@plinth/kernel'

/** Coded errors of this plugin. */
export const notificationError = errorTable({
  PLINTH_NOTIFICATION_UNKNOWN_CHANNEL: `No loaded plugin provides the default channel "{{channel}}". Loaded channels: {{loaded}}.{{nearest}}
    Add the plugin of that channel to the product file, or set platform.notification.default-channel to a loaded channel.`,
  PLINTH_NOTIFICATION_NO_QUEUE: `The message cannot be queued, because the product has {{missing}}.
    Add @plinth/database and @plinth/events to the product file, or send the message with send().`,
})
