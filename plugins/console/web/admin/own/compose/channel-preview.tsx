import { lazy, Suspense } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Boundary } from '../../../app/boundary.tsx'
import { Waiting } from '../../pages/load-state.tsx'
import classes from './compose.module.css'
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
        <Boundary>
          <Suspense fallback={<Waiting lines={1} height={240} />}>
            <HtmlFrame html={html} title={`${name}: ${subject}`} />
          </Suspense>
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
export function ChannelPreview({ channel, ...props }: ShownProps & { readonly channel: string }) {
  const Look = looks[channel] ?? Item
  return <Look {...props} />
}
