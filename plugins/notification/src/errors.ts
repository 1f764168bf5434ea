import { errorTable } from '@plinth/kernel'

/** Coded errors of this plugin. */
export const notificationError = errorTable({
  PLINTH_NOTIFICATION_UNKNOWN_CHANNEL: `No loaded plugin brings the default channel "{{channel}}"; loaded: {{loaded}}.{{nearest}}
    Add the plugin of that channel to the product file, or set platform.notification.default-channel to a loaded one.`,
  PLINTH_NOTIFICATION_NO_QUEUE: `A message cannot be enqueued: the product has {{missing}}.
    Add @plinth/database and @plinth/events to the product file, or send the message with send().`,
})
