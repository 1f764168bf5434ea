import { lazy } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Boundary } from '../../../app/boundary.tsx'
import { LoadFailure, LoadState, Waiting } from '../../pages/load-state.tsx'
import { AudienceText } from './audience-text.tsx'
import classes from './compose.module.css'
import { isPassing, type useAudience, type usePreviews } from './compose-queries.ts'
import type { Preview } from './compose-types.ts'
import { smsSize } from './sms-parts.ts'

/** The code of the frame is loaded with the first message in HTML. */
const HtmlFrame = lazy(() => import('../../pages/html-frame.tsx'))

interface ShownProps {
  readonly preview: Preview
  readonly name: string
}

function Mail({ preview, name }: ShownProps) {
  const { subject, content, html } = preview
  return (
    <div className={classes.mail}>
      <p className={classes.subject}>{subject}</p>
      {html === null ? (
        <p className={classes.text}>{content}</p>
      ) : (
        <Boundary waiting={<Waiting lines={1} height={240} />}>
          <HtmlFrame html={html} title={`${name}: ${subject}`} />
        </Boundary>
      )}
    </div>
  )
}

function TextMessage({ preview: { subject, content } }: ShownProps) {
  const { translate } = useLanguage()
  const text = content === '' ? subject : content
  const { characters, parts, perPart } = smsSize(text)
  return (
    <>
      <p className={classes.bubble}>{text}</p>
      <p className={classes.size}>
        {translate('compose.sms.characters', { count: characters })}
        {' · '}
        {translate('compose.sms.parts', { count: parts, perPart })}
      </p>
    </>
  )
}

const Chat = ({ preview: { subject, content } }: ShownProps) => (
  <div className={classes.chat}>
    {subject !== '' && <p className={classes.subject}>{subject}</p>}
    <p className={classes.text}>{content}</p>
  </div>
)

const Item = ({ preview: { subject, content } }: ShownProps) => (
  <div className={classes.item}>
    <p className={classes.subject}>{subject}</p>
    <p className={classes.text}>{content}</p>
  </div>
)

/** Look of a message on the channels that have one of their own. Other channels show an item. */
const looks: Readonly<Record<string, typeof Item>> = { mail: Mail, sms: TextMessage, webhook: Chat }

/** Shows a message as its recipients see it on one channel. */
function ChannelPreview({ channel, ...props }: ShownProps & { readonly channel: string }) {
  const Look = looks[channel] ?? Item
  return <Look {...props} />
}

interface ChannelListProps {
  readonly previews: ReturnType<typeof usePreviews>['previews']
  readonly audience: ReturnType<typeof useAudience>
  /** True for a message to all users. */
  readonly isForAll: boolean
  /** True if the message has no text yet. */
  readonly isEmpty: boolean
  /** Returns the name of a channel. */
  nameOf(channel: string): string
}

/** Describes one language that was tried, such as `zh-TW (exactly)`. */
const stepText =
  (translate: ReturnType<typeof useLanguage>['translate']) =>
  ({ locale, rule, found }: Preview['fallback'][number]): string =>
    `${found ?? locale} (${translate(`compose.fallback-${rule}`)})`

/** Shows for each channel who gets the message, and how it looks. */
export function ChannelList({ previews, audience, isForAll, isEmpty, nameOf }: ChannelListProps) {
  const { translate, language } = useLanguage()
  const languages = new Intl.DisplayNames([language], { type: 'language' })
  return (
    <section
      className={classes.channels}
      aria-label={translate('compose.previews')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll this element
      tabIndex={0}
    >
      <h2>{translate('compose.previews')}</h2>
      {isEmpty && <p className={classes.hint}>{translate('compose.nothing')}</p>}
      <LoadState of={audience} />
      {previews.map(({ channel, preview, error, retry }) => {
        const who = audience.data?.find((one) => one.channel === channel)
        const locale = preview?.templateLocale ?? null
        const hasNoText = preview !== undefined && preview.subject.trim() === '' && preview.content.trim() === ''
        return (
          <article key={channel} className={classes.channel} aria-label={nameOf(channel)}>
            <h3>{nameOf(channel)}</h3>
            {who !== undefined && (
              <div>
                <AudienceText of={who} isForAll={isForAll} />
              </div>
            )}
            {error != null &&
              (isPassing(error) ? (
                <LoadFailure error={error} onRetry={retry} />
              ) : (
                <p className={classes.warn}>{error.message}</p>
              ))}
            {!isEmpty && preview === undefined && error == null && <Waiting lines={1} height={96} />}
            {!isEmpty && preview !== undefined && !hasNoText && (
              <ChannelPreview {...{ channel, preview }} name={nameOf(channel)} />
            )}
            {!isEmpty && hasNoText && <p className={classes.warn}>{translate('compose.no-template')}</p>}
            {!isEmpty && locale !== null && (
              <p className={classes.size}>{translate('compose.language', { language: languages.of(locale) })}</p>
            )}
            {!isEmpty && preview !== undefined && preview.fallback.length > 1 && (
              <p className={classes.size}>
                {translate('compose.fallback', { steps: preview.fallback.map(stepText(translate)).join(' → ') })}
              </p>
            )}
          </article>
        )
      })}
    </section>
  )
}
