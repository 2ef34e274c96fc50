package io.github.outriggerinference;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A server that speaks just enough HTTP/2 to lose each connection at a chosen moment of its first
 * call.
 */
final class BrokenSidecar implements AutoCloseable {
  /** When a connection is lost. */
  enum Moment {
    ACCEPTED,
    PREFACE_READ,
    SETTINGS_SENT,
    HEADERS_READ,
    REQUEST_READ,
    WITHIN_HEADERS,
    HEADERS_SENT,
    WITHIN_MESSAGE,
    WITHIN_FRAME
  }

  private static final int PREFACE_BYTES = 24;
  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int SETTINGS = 4;
  private static final int ACK = 1;
  private static final int END_HEADERS = 4;

  private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final Moment moment;
  private final boolean resets;
  private final AtomicInteger connections = new AtomicInteger();

  /**
   * @param resets whether connections end with a reset, as those of a killed process with unread
   *     data, instead of an end of the stream
   */
  BrokenSidecar(Moment moment, boolean resets) throws IOException {
    this.moment = moment;
    this.resets = resets;
    Thread thread = new Thread(this::accept, "broken-sidecar");
    thread.setDaemon(true);
    thread.start();
  }

  String address() {
    return "127.0.0.1:" + server.getLocalPort();
  }

  /** How many connections there were. */
  int connections() {
    return connections.get();
  }

  @Override
  public void close() throws IOException {
    server.close();
  }

  private void accept() {
    while (!server.isClosed()) {
      try (Socket socket = server.accept()) {
        connections.incrementAndGet();
        if (resets) {
          socket.setSoLinger(true, 0);
        }
        serve(socket);
      } catch (IOException lost) {
        // The client or the test closed it; there is nothing left to lose.
      }
    }
  }

  private void serve(Socket socket) throws IOException {
    if (moment == Moment.ACCEPTED) {
      return;
    }
    DataInputStream in = new DataInputStream(socket.getInputStream());
    in.readFully(new byte[PREFACE_BYTES]);
    if (moment == Moment.PREFACE_READ) {
      return;
    }
    OutputStream out = socket.getOutputStream();
    out.write(frame(SETTINGS, 0, 0));
    if (moment == Moment.SETTINGS_SENT) {
      return;
    }
    awaitFrame(in, out, HEADERS);
    if (moment == Moment.HEADERS_READ) {
      return;
    }
    awaitFrame(in, out, DATA);
    answer(out);
  }

  /** Begins an answer, on the first stream of the client. */
  private void answer(OutputStream out) throws IOException {
    // `:status: 200` of the static table, and `content-type` with a literal value.
    byte[] type = "application/grpc".getBytes(StandardCharsets.US_ASCII);
    byte[] head = frame(HEADERS, END_HEADERS, 1, new byte[] {(byte) 0x88, 0x5f, 16}, type);
    switch (moment) {
      case WITHIN_HEADERS -> out.write(head, 0, head.length / 2);
      case HEADERS_SENT -> out.write(head);
      case WITHIN_MESSAGE -> {
        out.write(head);
        out.write(frame(DATA, 0, 1, new byte[] {0, 0, 0, 0, 100}, new byte[10]));
      }
      case WITHIN_FRAME -> {
        out.write(head);
        out.write(frame(DATA, 0, 1, new byte[] {0, 0, 0, 0, 100}, new byte[100]), 0, 50);
      }
      default -> {}
    }
  }

  private static void awaitFrame(DataInputStream in, OutputStream out, int type)
      throws IOException {
    while (true) {
      int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
      int found = in.readUnsignedByte();
      int flags = in.readUnsignedByte();
      in.readInt();
      in.readFully(new byte[length]);
      if (found == SETTINGS && (flags & ACK) == 0) {
        out.write(frame(SETTINGS, ACK, 0));
      }
      if (found == type) {
        return;
      }
    }
  }

  private static byte[] frame(int type, int flags, int stream, byte[]... parts) {
    int length = 0;
    for (byte[] part : parts) {
      length += part.length;
    }
    byte[] frame = new byte[9 + length];
    frame[1] = (byte) (length >> 8);
    frame[2] = (byte) length;
    frame[3] = (byte) type;
    frame[4] = (byte) flags;
    frame[8] = (byte) stream;
    int at = 9;
    for (byte[] part : parts) {
      System.arraycopy(part, 0, frame, at, part.length);
      at += part.length;
    }
    return frame;
  }
}
